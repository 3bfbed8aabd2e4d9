// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridCommandSupport
internal import HybridProgram
internal import HybridSSHAgent
internal import HybridThreads

/// A server of the SSH agent protocol on a Unix socket, with one thread for each connection.
///
/// Threads block in poll(2), so an idle agent never wakes up.
package final class SSHAgentServer: Sendable {
    /// Maximum number of connections; further ones are closed.
    ///
    /// They fit the 1,024 descriptors that a process usually may open. See ``ConnectionPlaces`` for the part of other hosts.
    static let maximumConnections = 256
    /// The descriptors of a connection: its socket, its waker, and its connection to the upstream agent.
    private static let descriptorsPerConnection = 3
    /// The descriptors that connections leave to everything else, such as ceremonies and known_hosts files.
    private static let reservedDescriptors = 64
    /// Maximum number of connections of a restricted server.
    ///
    /// It is less than the queue's length, so that other hosts leave room for requests of this computer.
    static let maximumRestrictedConnections = 8

    private let keys: SSHKeyRing
    private let signing: SigningService
    private let remote: RemoteSignInService?
    private let upstream: String?
    private let isRestricted: Bool
    private let socketName: String?
    private let refused: @Sendable (String) -> Void
    private let places: Locked<ConnectionPlaces>
    private let stopper: Waker

    /// Creates a server; returns `nil` if the process has no descriptors left.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - signing: The service that makes signatures.
    ///   - remote: The service for websites in browsers on other hosts; `nil` for a socket that does not serve them.
    ///   - upstream: The socket of another agent with further keys, which a restricted server does not use.
    ///   - isRestricted: True for a socket that is only for forwarding; see ``AgentConnection/init(isRestricted:)``.
    ///   - socketName: The name of the socket in permissions for websites; `nil` to require the proof of a host.
    ///   - refused: Called with the reason for each refused signature or binding.
    package init?(
        keys: SSHKeyRing,
        signing: SigningService,
        remote: RemoteSignInService? = nil,
        upstream: String? = nil,
        isRestricted: Bool = false,
        socketName: String? = nil,
        refused: @escaping @Sendable (String) -> Void
    ) {
        guard let stopper = Waker() else { return nil }
        self.keys = keys
        self.signing = signing
        self.remote = remote
        self.socketName = socketName
        // The keys of the other agent know no restriction.
        self.upstream = isRestricted ? nil : upstream
        self.isRestricted = isRestricted
        let lines = Locked(RepeatedLines())
        self.refused = { text in
            if let line = lines.withLock({ $0.line(text) }) { refused(line) }
        }
        let maximum = isRestricted ? Self.maximumRestrictedConnections : Self.maximumConnections
        places = Locked(ConnectionPlaces(maximum: min(maximum, Self.connections(within: Self.descriptorLimit))))
        self.stopper = stopper
    }

    /// Returns the number of connections that a process with this limit on open descriptors can serve, at least 4.
    static func connections(within limit: Int) -> Int {
        max(4, (limit - reservedDescriptors) / descriptorsPerConnection)
    }

    private static var descriptorLimit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    /// Accepts connections until ``stop()``; blocks.
    package func serve(_ socket: ServiceSocket) {
        AcceptLoop.run(on: socket.descriptor, until: stopper.descriptor) { start($0, for: $1) }
    }

    /// Ends ``serve(_:)``.
    package func stop() { stopper.wake() }

    /// Serves a connection on a thread of its own, or closes it.
    private func start(_ descriptor: CInt, for client: PeerCredentials) {
        guard client.mayUseAgent(of: geteuid()) else {
            close(descriptor)
            return
        }
        guard places.withLock({ $0.enter() }) else {
            close(descriptor)
            return refused("too many connections (\(maximum)); end programs that keep some open\(limitRemedy)")
        }
        let isStarted = DedicatedThread.start { [self] in
            let handler = AgentConnectionHandler(
                descriptor,
                client,
                keys,
                signing,
                remote,
                upstream,
                AgentConnection(isRestricted: isRestricted, socketName: socketName),
                refused
            ) { [self] host in isRestricted || places.withLock { $0.forward(through: host) } }
            if let handler { handler.serve() } else { refused(Self.noDescriptors) }
            close(descriptor)
            places.withLock { $0.leave(handler?.host) }
        }
        guard !isStarted else { return }
        close(descriptor)
        places.withLock { $0.leave(nil) }
    }

    private var maximum: Int { places.withLock(\.maximum) }

    private var limitRemedy: String {
        isRestricted || maximum == Self.maximumConnections ? "" : ", or raise the limit on open files (LimitNOFILE)"
    }

    private static let noDescriptors =
        "a connection was closed because no file descriptors are left; raise the limit on open files (LimitNOFILE)"
}
