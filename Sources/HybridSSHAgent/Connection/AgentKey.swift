// SPDX-License-Identifier: Apache-2.0

/// A key that the agent offers, with its name and its restrictions.
public struct AgentKey: Hashable, Sendable {
    /// The key.
    public let publicKey: SSHPublicKey
    /// The name of the key.
    public let comment: KeyComment
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
        comment: KeyComment,
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

/// A login that a key permits, or one hop on the way to it (OpenSSH's `restrict-destination-v00@openssh.com`).
///
/// To use a key on B through an agent that is forwarded to A, both hops must be permitted: from this computer to A, and
/// from A to B.
public struct PermittedDestination: Hashable, Sendable {
    /// The host to which the agent is forwarded; `nil` for this computer.
    public let origin: Fingerprint?
    /// The host to log in to.
    public let host: Fingerprint
    /// The permitted users on the host; `nil` for all.
    public let users: Set<String>?

    /// Creates a permitted destination.
    ///
    /// - Parameters:
    ///   - origin: The host to which the agent is forwarded; `nil` for this computer.
    ///   - host: The host to log in to.
    ///   - users: The permitted users on the host; `nil` for all.
    public init(from origin: Fingerprint? = nil, to host: Fingerprint, users: Set<String>? = nil) {
        self.origin = origin
        self.host = host
        self.users = users
    }

    func permits(from origin: Fingerprint?, to host: Fingerprint, user: SSHUserName?) -> Bool {
        guard origin == self.origin, host == self.host else { return false }
        guard let users, let user else { return true }
        return users.contains(user.description)
    }
}
