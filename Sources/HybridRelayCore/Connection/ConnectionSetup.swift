// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL

/// What a new connection goes through once it is known where it comes from: the doorkeeper, TLS, the tunnel's handler.
struct ConnectionSetup {
    let registry: TunnelRegistry
    let watch: ConnectionTimers
    let transport: RelayTransport
    let countsSources: Bool

    /// Gives the connection its handlers, or hangs up on it.
    ///
    /// The machine's own connections are not counted: they are somebody's tests, or all those of a balancer that
    /// passes TCP on without saying whose it is.
    ///
    /// - Parameter address: where it comes from; `nil` for a balancer's own.
    func open(_ channel: any Channel, from address: SocketAddress?) throws {
        let source = address.flatMap { countsSources && !$0.isLoopback ? SourcePrefix($0) : nil }
        do throws(AdmissionControl.Rejection) {
            try registry.arrive(source)
        } catch {
            // Cheaper than an answer, which would cost a TLS handshake first.
            channel.close(promise: nil)
            return
        }
        do {
            let handler = TunnelHandler(registry: registry, limits: registry.limits, watch: watch, source: source)
            if case .tls(let context) = transport {
                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
            }
            // With a name, as one that is made up costs more.
            try channel.pipeline.syncOperations.addHandler(handler, name: "tunnel")
        } catch {
            registry.depart(source)
            throw error
        }
    }
}
