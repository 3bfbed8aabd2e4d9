// SPDX-License-Identifier: Apache-2.0

/// A key that the agent offers, with its name and its restrictions.
public struct AgentKey: Hashable, Sendable {
    /// The key.
    public let publicKey: SSHPublicKey
    /// The name of the key.
    public let comment: SSHKeyComment
    /// True if messages may be signed through a forwarded agent.
    public var allowsForwardedMessages: Bool
    /// The permitted logins; `nil` if all are.
    public var destinations: [PermittedDestination]?

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - publicKey: The key.
    ///   - comment: The name of the key.
    ///   - allowsForwardedMessages: True if messages may be signed through a forwarded agent.
    ///   - destinations: The permitted logins; `nil` to permit all. A key with destinations signs no messages.
    public init(
        _ publicKey: SSHPublicKey,
        comment: SSHKeyComment,
        allowsForwardedMessages: Bool = false,
        destinations: [PermittedDestination]? = nil
    ) {
        self.publicKey = publicKey
        self.comment = comment
        self.allowsForwardedMessages = allowsForwardedMessages
        self.destinations = destinations
    }

    /// Returns true if the destinations permit a login through these hops.
    func permits(_ user: SSHUserName, at host: HostKey?, _ bindings: [SessionBinding]) -> Bool {
        guard let destinations else { return true }
        guard host != nil, hopsArePermitted(bindings.dropLast()), let last = bindings.last else { return false }
        let origin = bindings.dropLast().last?.hostKey.fingerprint
        return destinations.contains { $0.permits(from: origin, to: last.hostKey.fingerprint, user: user) }
    }

    /// Returns true if the key is listed on a connection with these bindings.
    ///
    /// A key is hidden beyond a hop that may not use it, as in OpenSSH's agent.
    func isVisible(_ bindings: SessionBindings) -> Bool {
        guard let destinations, let last = bindings.list.last else { return true }
        guard !bindings.hasFailed, hopsArePermitted(bindings.list[...]) else { return false }
        return !last.isForwarded || destinations.contains { $0.origin == last.hostKey.fingerprint }
    }

    private func hopsArePermitted(_ bindings: ArraySlice<SessionBinding>) -> Bool {
        let hosts = bindings.map(\.hostKey.fingerprint)
        return zip([nil] + hosts.map(Optional.some), hosts).allSatisfy { origin, host in
            (destinations ?? []).contains { $0.permits(from: origin, to: host, user: nil) }
        }
    }
}
