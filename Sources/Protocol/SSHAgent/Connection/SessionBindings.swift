// SPDX-License-Identifier: Apache-2.0

/// A proof that a connection to the agent belongs to an SSH session with a server (OpenSSH's PROTOCOL.agent §1).
public struct SessionBinding: Hashable, Sendable {
    /// The server's key.
    public let hostKey: HostKey
    /// The session.
    public let sessionID: SSHSessionID
    /// True if the agent is forwarded to the server, false if the session authenticates the user.
    public let isForwarded: Bool
}

/// The identifier of an SSH session: the hash of its first key exchange (RFC 4253 §7.2), 20 to 64 bytes.
public struct SSHSessionID: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a session identifier.
    ///
    /// - Throws: ``SSHFormatError/sessionID`` unless there are 20 (SHA-1) to 64 bytes (SHA-512).
    public init(bytes: some Collection<UInt8>) throws(SSHFormatError) {
        guard (20...64).contains(bytes.count) else { throw .sessionID }
        self.bytes = Array(bytes)
    }
}

/// The contents of a request to bind a connection: string host key ‖ string session identifier ‖ string signature ‖
/// boolean forwarded.
struct SessionBindRequest: Sendable {
    let binding: SessionBinding
    let signature: [UInt8]

    init(parsing contents: ArraySlice<UInt8>) throws(SSHFormatError) {
        var reader = SSHReader(contents)
        let hostKey = try HostKey(parsing: try reader.string())
        let sessionID = try SSHSessionID(bytes: try reader.string())
        signature = Array(try reader.string())
        binding = SessionBinding(hostKey: hostKey, sessionID: sessionID, isForwarded: try reader.boolean())
        try reader.finish()
    }

    /// True for a signature by RSA with SHA-1, which old servers make.
    var usesSHA1: Bool {
        var reader = SSHReader(signature[...])
        return (try? reader.string()).map { $0.elementsEqual("ssh-rsa".utf8) } ?? false
    }
}

/// The bindings of one connection, in order: each forwarding hop, then the session that authenticates.
struct SessionBindings: Sendable {
    /// Maximum number of bindings, as in OpenSSH.
    static let maximumCount = 16

    /// True if the connection counts as forwarded even without a binding that proves it.
    let isRestricted: Bool
    /// The bindings in the order of their arrival.
    private(set) var list: [SessionBinding] = []
    /// True if an attempt failed.
    ///
    /// Such a connection may come from any host, so nothing more is signed on it.
    private(set) var hasFailed = false

    /// Creates a connection without bindings.
    init(isRestricted: Bool = false) { self.isRestricted = isRestricted }

    /// Adds a binding after its signature is verified.
    mutating func bind(_ request: SessionBindRequest) throws(SessionBindingError) {
        do throws(SessionBindingError) {
            try check(request)
        } catch {
            hasFailed = true
            throw error
        }
        if !list.contains(where: { $0.sessionID == request.binding.sessionID }) { list.append(request.binding) }
    }

    /// Records an attempt that does not parse.
    mutating func fail() { hasFailed = true }

    private func check(_ request: SessionBindRequest) throws(SessionBindingError) {
        let binding = request.binding
        guard !request.usesSHA1 else { throw .sha1 }
        do throws(SSHFormatError) {
            guard try binding.hostKey.isValid(request.signature, for: binding.sessionID) else {
                throw SSHFormatError.signature
            }
        } catch {
            throw .signature
        }
        guard list.allSatisfy(\.isForwarded) else { throw .boundForAuthentication }
        if let known = list.first(where: { $0.sessionID == binding.sessionID }) {
            guard known.hostKey == binding.hostKey else { throw .otherHostKey }
        } else {
            guard list.count < Self.maximumCount else { throw .tooMany }
        }
    }

    /// Checks that the bindings permit a signature.
    ///
    /// - Returns: The server and the hops, for the prompt.
    func check(_ data: SignedData, for key: AgentKey) throws(AgentRefusal) -> SigningPurpose {
        guard !hasFailed else { throw .bindingFailed }
        switch data.content {
        case .message(let message):
            guard (list.isEmpty && !isRestricted) || key.allowsForwardedMessages else { throw .forwardedMessage }
            guard key.destinations == nil else { throw .destination }
            return .message(namespace: message.namespace, via: list.map(\.hostKey))
        case .login(let login):
            let host = try check(login)
            // Otherwise, a login from an unknown host would count as one from this computer.
            let isOriginKnown = !isRestricted || list.count > 1
            guard key.destinations == nil || isOriginKnown, key.permits(login.user, at: host, list) else {
                throw .destination
            }
            return .login(user: login.user, host: host, via: list.dropLast().map(\.hostKey))
        }
    }

    /// Returns the server of a login, or `nil` if the connection is not bound.
    private func check(_ login: LoginData) throws(AgentRefusal) -> HostKey? {
        guard let last = list.last else {
            guard !isRestricted else { throw .notBound }
            return nil
        }
        guard login.sessionID == last.sessionID else { throw .otherSession }
        guard !last.isForwarded else { throw .forwardingSession }
        if let hostKey = login.hostKey {
            guard hostKey == last.hostKey else { throw .otherHostKey }
        } else {
            guard list.count == 1, !isRestricted else { throw .notHostBound }
        }
        return last.hostKey
    }
}

/// A reason why a connection is not bound to a session.
public struct SessionBindingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The request does not parse.
    public static let malformed = SessionBindingError("malformed")
    /// The host key has another type or size than those of ``HostKey``.
    public static let hostKey = SessionBindingError(
        "hostKey",
        "the server's key cannot be verified; use Ed25519, ECDSA, or RSA of 1,024 to 8,192 bits (HostKeyAlgorithms)"
    )
    /// The server signs with RSA and SHA-1.
    public static let sha1 = SessionBindingError(
        "sha1",
        "the server signs with SHA-1, which proves nothing; use another of its keys (HostKeyAlgorithms), or update it"
    )
    /// The host key did not sign the session identifier.
    public static let signature = SessionBindingError("signature")
    /// The connection is already bound to a session that authenticates.
    public static let boundForAuthentication = SessionBindingError("boundForAuthentication")
    /// The session is already bound with another host key.
    public static let otherHostKey = SessionBindingError("otherHostKey")
    /// The connection has 16 bindings.
    public static let tooMany = SessionBindingError("tooMany")

    /// The error's name.
    public let description: String
    /// The reason in words, for users.
    public let explanation: String

    private init(
        _ description: String,
        _ explanation: String = "the client did not prove its session with a server"
    ) {
        self.description = description
        self.explanation = explanation
    }
}
