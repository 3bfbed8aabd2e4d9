// SPDX-License-Identifier: Apache-2.0

/// A login that a key permits, or one hop on the way to it (OpenSSH's `restrict-destination-v00@openssh.com`).
///
/// To use a key on B through an agent that is forwarded to A, both hops must be permitted: from this computer to A, and
/// from A to B.
public struct PermittedDestination: Hashable, Sendable, CustomStringConvertible {
    /// Maximum length of a user name in ``init(_:)``, in bytes.
    public static let maximumUserLength = 64

    /// The host to which the agent is forwarded; `nil` for this computer.
    public let origin: SSHFingerprint?
    /// The permitted user on the host; `nil` for all.
    public let user: SSHUserName?
    /// The host to log in to.
    public let host: SSHFingerprint

    /// Creates a permitted destination.
    ///
    /// - Parameters:
    ///   - origin: The host to which the agent is forwarded; `nil` for this computer.
    ///   - user: The permitted user on the host; `nil` for all.
    ///   - host: The host to log in to.
    public init(from origin: SSHFingerprint? = nil, as user: SSHUserName? = nil, to host: SSHFingerprint) {
        self.origin = origin
        self.user = user
        self.host = host
    }

    /// Creates a destination from its text `[origin>][user@]host`.
    ///
    /// - Parameter text: The hosts are fingerprints. The user has 1 to ``maximumUserLength`` letters, digits and
    ///   characters of `.+-_$@\`.
    /// - Returns: `nil` for any other text.
    public init?(_ text: String) {
        guard let parts = Parts(text), let host = SSHFingerprint(parts.host) else { return nil }
        let origin = parts.origin.flatMap(SSHFingerprint.init)
        let user = parts.user.flatMap(SSHUserName.init(shortName:))
        guard (origin == nil) == (parts.origin == nil), (user == nil) == (parts.user == nil) else { return nil }
        self.init(from: origin, as: user, to: host)
    }

    /// The text `[origin>][user@]host`.
    public var description: String {
        (origin.map { "\($0)>" } ?? "") + (user.map { "\($0)@" } ?? "") + host.description
    }

    /// The parts of a text `[origin>][user@]host`, in which hosts may have any name.
    public struct Parts: Hashable, Sendable {
        /// The host to which the agent is forwarded.
        public let origin: String?
        /// The user on the host.
        public let user: String?
        /// The host to log in to.
        public let host: String

        /// Creates the parts; returns `nil` if one is empty.
        public init?(_ text: String) {
            let hops = text.split(separator: ">", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            origin = hops.count > 1 ? hops[0] : nil
            let login = hops.last ?? ""
            let mark = login.lastIndex(of: "@")
            user = mark.map { String(login[..<$0]) }
            host = mark.map { String(login[login.index(after: $0)...]) } ?? login
            guard !host.isEmpty, origin != "", user != "" else { return nil }
        }
    }

    func permits(from origin: SSHFingerprint?, to host: SSHFingerprint, user: SSHUserName?) -> Bool {
        guard origin == self.origin, host == self.host else { return false }
        guard let permitted = self.user, let user else { return true }
        return permitted == user
    }
}

extension SSHUserName {
    /// Creates the name of a user in a destination; returns `nil` for a name that could not stand in a list of them.
    fileprivate init?(shortName text: String) {
        guard text.utf8.count <= PermittedDestination.maximumUserLength,
            text.utf8.allSatisfy({ NameByte.isAllowed($0, besides: #".+-_$@\"#) })
        else { return nil }
        self.init(Array(text.utf8)[...])
    }
}
