// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives

/// The opening of a tunnel at a relay, with up to five redirections.
///
/// The target of a redirection must be a host name, with TLS on port 443. It must not be in this computer's own network
/// unless the relay itself is. The token is sent only to the relay.
struct TunnelOpening: Sendable {
    let relay: RelayEndpoint
    let path: TunnelPath
    let bearerToken: BearerToken?
    /// Called for each redirection before it is followed.
    var redirected: @Sendable (RedirectStep) -> Void = { _ in }

    /// Opens the tunnel.
    ///
    /// - Parameter report: Receives the facts learned about each host, in order.
    /// - Throws: ``TunnelError``, `CancellationError`.
    func open(report: (HopDiagnostics) -> Void = { _ in }) async throws -> WebSocketTunnel {
        let tls = try TunnelTLS.context(trustedCertificates: relay.network.trustedCertificates)
        let first = relay.domain.host
        var hop = Hop(host: first, path: path.text, mayBeLocal: true)
        var isLocal = false
        for count in 0...Redirect.maximumCount {
            let token = hop.host == first ? bearerToken : nil
            let connector = HopConnector(hop: hop, relay: relay, path: path, bearerToken: token, tls: tls)
            do {
                let opened = try await connector.open()
                report(connector.diagnostics)
                return opened
            } catch let redirect as Redirect {
                let diagnostics = connector.diagnostics
                report(diagnostics)
                // Behind a proxy, only the proxy knows the host's address.
                if count == 0, diagnostics.proxy == nil { isLocal = diagnostics.peer.map { !$0.isGlobal } ?? false }
                guard count < Redirect.maximumCount else { break }
                guard isLocal || !HostName.isLocal(redirect.host) else {
                    throw TunnelError.redirectRefused(host: hop.host, .local)
                }
                redirected(RedirectStep(from: hop.host, to: redirect.host))
                // This applies even to the relay itself, because its name may have another address by now.
                hop = Hop(host: redirect.host, path: redirect.path, mayBeLocal: isLocal)
            } catch {
                report(connector.diagnostics)
                throw error
            }
        }
        throw TunnelError.tooManyRedirects(host: hop.host)
    }
}
