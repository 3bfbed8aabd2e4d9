// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// The setup of a new connection once its source is known: admission, TLS and the tunnel's handler.
struct ConnectionSetup {
    let registry: TunnelRegistry
    let admission: AdmissionControl
    let timers: ConnectionTimers
    let transport: RelayTransport
    let countsSources: Bool

    /// Adds handlers to a connection, or closes it if it is not admitted.
    ///
    /// Loopback connections have no source, so they count only toward the total limit. They come from tests, or from a
    /// load balancer that forwards TCP without a PROXY header.
    ///
    /// - Parameters:
    ///   - channel: The connection's channel.
    ///   - address: The peer's address; `nil` for the load balancer's own connections.
    func open(_ channel: any Channel, from address: SocketAddress?) throws {
        let source = address.flatMap { countsSources && !$0.isLoopback ? SourcePrefix($0) : nil }
        do throws(AdmissionControl.Rejection) {
            try admission.admitConnection(from: source)
        } catch {
            // A response would be more expensive, because it requires a TLS handshake.
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
            // Generating a name would cost more.
            try channel.pipeline.syncOperations.addHandler(handler, name: "tunnel")
        } catch {
            admission.removeConnection(from: source)
            throw error
        }
    }
}
