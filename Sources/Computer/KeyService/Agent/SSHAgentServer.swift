// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridCommandSupport
internal import HybridProgram
internal import HybridThreads

/// A server of the SSH agent protocol on a Unix socket, with one thread for each connection.
///
/// Threads block in poll(2), so an idle agent never wakes up.
package final class SSHAgentServer: Sendable {
    /// Maximum number of connections; further ones are closed.
    static let maximumConnections = 64
    /// Maximum number of connections of a restricted server.
    ///
    /// It is less than the queue's length, so that other hosts leave room for requests of this computer.
    static let maximumRestrictedConnections = 8

    private let keys: SSHKeyRing
    private let signing: SigningService
    private let upstream: String?
    private let isRestricted: Bool
    private let refused: @Sendable (String) -> Void
    private let connections = Locked(0)
    private let stopper: Waker

    /// Creates a server; returns `nil` if the process has no descriptors left.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - signing: The service that makes signatures.
    ///   - upstream: The socket of another agent with further keys, which a restricted server does not use.
    ///   - isRestricted: True for a socket that is only for forwarding; see ``AgentConnection/init(isRestricted:)``.
    ///   - refused: Called with the reason for each refused signature or binding.
    package init?(
        keys: SSHKeyRing,
        signing: SigningService,
        upstream: String? = nil,
        isRestricted: Bool = false,
        refused: @escaping @Sendable (String) -> Void
    ) {
        guard let stopper = Waker() else { return nil }
        self.keys = keys
        self.signing = signing
        // The keys of the other agent know no restriction.
        self.upstream = isRestricted ? nil : upstream
        self.isRestricted = isRestricted
        self.refused = refused
        self.stopper = stopper
    }

    /// Accepts connections until ``stop()``; blocks.
    package func serve(_ socket: ServiceSocket) {
        AcceptLoop.run(on: socket.descriptor, until: stopper.descriptor) { start($0, for: $1) }
    }

    /// Ends ``serve(_:)``.
    package func stop() { stopper.wake() }

    /// Serves a connection on a thread of its own, or closes it.
    private func start(_ descriptor: CInt, for client: PeerCredentials) {
        let maximum = isRestricted ? Self.maximumRestrictedConnections : Self.maximumConnections
        guard client.mayUseAgent(of: geteuid()), connections.increment(upTo: maximum) else {
            close(descriptor)
            return
        }
        let isStarted = DedicatedThread.start { [self] in
            AgentConnectionHandler(descriptor, client, keys, signing, upstream, isRestricted: isRestricted, refused)?
                .serve()
            close(descriptor)
            connections.withLock { $0 -= 1 }
        }
        guard !isStarted else { return }
        close(descriptor)
        connections.withLock { $0 -= 1 }
    }
}
