// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridNetwork
internal import HybridPrimitives

/// The opening of a tunnel at a relay, with up to five redirections.
///
/// The target of a redirection must be a host name, with TLS on port 443. It must not be in this computer's own network
/// unless the relay itself is. Through a proxy it must be the relay's own host, because only the proxy learns the
/// address of another one. The token is sent only to the relay, for a new tunnel or to listen.
struct TunnelOpening: Sendable {
    let relay: RelayEndpoint
    let path: TunnelPath
    /// The message to a linked phone, if one is contacted; sent to each host.
    var payload: ClientPayload?
    let bearerToken: BearerToken?
    /// Called for each redirection before it is followed.
    var redirected: @Sendable (RedirectStep) -> Void = { _ in }

    /// Opens the tunnel.
    ///
    /// - Parameter report: Receives the facts learned about each host, in order.
    /// - Throws: ``TunnelError``, `CancellationError`.
    func open(report: (HopDiagnostics) -> Void = { _ in }) async throws -> WebSocketTunnel {
        do {
            return try await follow(report: report)
        } catch let error as NetworkError {
            throw TunnelError.network(error)
        }
    }

    /// Makes the requests, one after the other.
    ///
    /// - Throws: `NetworkError`, ``TunnelError``, `CancellationError`.
    private func follow(report: (HopDiagnostics) -> Void) async throws -> WebSocketTunnel {
        let first = relay.domain.host
        let tls = try ClientTLS(trustedCertificates: relay.network.trustedCertificates)
        var hop = Hop(host: first, path: path.text, mayBeLocal: true)
        var isLocal = false
        for count in 0...Redirect.maximumCount {
            var connector = self.connector(for: hop, tls, sendsEarlyData: true)
            do {
                let opened: WebSocketTunnel
                do {
                    opened = try await connector.open()
                } catch TLSFailure.earlyData {
                    connector = self.connector(for: hop, tls, sendsEarlyData: false)
                    opened = try await connector.open()
                }
                report(connector.diagnostics)
                return opened
            } catch let redirect as Redirect {
                let diagnostics = connector.diagnostics
                report(diagnostics)
                // Behind a proxy, only the proxy knows the host's address.
                if count == 0, diagnostics.proxy == nil { isLocal = diagnostics.peer.map { !$0.isGlobal } ?? false }
                guard count < Redirect.maximumCount else { break }
                guard isLocal || !HostName.isLocal(redirect.host) else {
                    throw NetworkError.redirectRefused(host: hop.host, .local)
                }
                guard try isLocal || canBeRedirectTarget(redirect.host) else {
                    throw NetworkError.redirectRefused(host: hop.host, .throughProxy)
                }
                redirected(RedirectStep(from: hop.host, to: redirect.host))
                // This applies even to the relay itself, because its name may have another address by now.
                hop = Hop(host: redirect.host, path: redirect.path, mayBeLocal: isLocal)
            } catch {
                report(connector.diagnostics)
                throw error
            }
        }
        throw NetworkError.tooManyRedirects(host: hop.host)
    }

    private func connector(for hop: Hop, _ tls: ClientTLS, sendsEarlyData: Bool) -> HopConnector {
        // Relays need the token for no other request, and early data is protected only by the key of their tickets.
        let needsToken = hop.host == relay.domain.host && !path.permitsEarlyData
        return HopConnector(
            hop: hop,
            relay: relay,
            path: path,
            payload: payload,
            bearerToken: needsToken ? bearerToken : nil,
            tls: tls,
            sendsEarlyData: sendsEarlyData
        )
    }

    /// Returns true if a redirection to `host` cannot aim a request into a proxy's network.
    ///
    /// Without a proxy, the address is checked. The relay's own name is safe with any address, because no other machine
    /// can read the request: it has neither a certificate for the name nor the secret of a session.
    private func canBeRedirectTarget(_ host: String) throws -> Bool {
        try host == relay.domain.host || relay.target(of: host).isOverridden
            || relay.network.proxies.proxy(for: host, port: RelayEndpoint.port) == nil
    }
}
