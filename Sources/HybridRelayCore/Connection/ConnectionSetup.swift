// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// Setup of a new connection once its source is known: admission, TLS and the tunnel's handler.
struct ConnectionSetup {
    let registry: TunnelRegistry
    let admission: AdmissionControl
    let timers: ConnectionTimers
    let transport: RelayTransport
    let countsSources: Bool

    /// Adds handlers to a connection, or closes it if it is not admitted.
    ///
    /// Loopback connections have no source, so they do not count against limits. They come from tests, or from a load
    /// balancer that forwards TCP without a PROXY header.
    ///
    /// - Parameter address: The peer's address; `nil` for the load balancer's own connections.
    func open(_ channel: any Channel, from address: SocketAddress?) throws {
        let source = address.flatMap { countsSources && !$0.isLoopback ? SourcePrefix($0) : nil }
        do throws(AdmissionControl.Rejection) {
            try admission.admitConnection(from: source)
        } catch {
            // Cheaper than a response, which would first cost a TLS handshake.
            channel.close(promise: nil)
            return
        }
        do {
            let handler = TunnelHandler(
                registry: registry,
                admission: admission,
                limits: registry.limits,
                timers: timers,
                source: source
            )
            if case .tls(let context) = transport {
                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            }
            // With an explicit name, since a generated one costs more.
            try channel.pipeline.syncOperations.addHandler(handler, name: "tunnel")
        } catch {
            admission.removeConnection(from: source)
            throw error
        }
    }
}
