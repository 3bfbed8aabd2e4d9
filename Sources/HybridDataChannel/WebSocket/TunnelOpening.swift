// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore
internal import NIOSSL

/// A tunnel that the relay has accepted.
struct OpenedTunnel: Sendable {
    let channel: any Channel
    /// What comes in, and whether more may be sent.
    let traffic: TunnelTraffic
    /// The routing ID, if the path was `new`.
    let routingID: RoutingID?
}

/// The way to a tunnel: the relay, and where it sends to, up to five hosts further.
///
/// Every further host is a name with TLS on port 443, and not in this device's own network unless the relay itself is. A
/// token goes to the relay alone.
struct TunnelOpening: Sendable {
    let location: RelayEndpoint
    let path: TunnelPath
    let bearerToken: BearerToken?
    /// Told of each redirection before it is followed.
    var redirected: @Sendable (RedirectStep) -> Void = { _ in }

    /// - Throws: ``TunnelError``, `CancellationError`.
    func open() async throws -> OpenedTunnel {
        try await open { _ in }
    }

    /// Opens, and tells what was learnt at each host, the last one's facts last.
    func open(learnt: (HopDiagnostics) -> Void) async throws -> OpenedTunnel {
        let tls = try TunnelTLS.context(trustedCertificates: location.trustedCertificates)
        let relay = location.domain.host
        var hop = Hop(host: relay, path: path.text, mayBeLocal: true)
        var isLocal = false
        for count in 0...Redirect.most {
            let token = hop.host == relay ? bearerToken : nil
            let opening = HopConnector(hop, location, path, token, tls)
            do {
                let opened = try await opening.open()
                learnt(opening.facts)
                return opened
            } catch let redirect as Redirect {
                learnt(opening.facts)
                // Behind a proxy it is the proxy that knows where a host stands.
                if count == 0, opening.facts.proxy == nil { isLocal = opening.facts.peer.map { !$0.isGlobal } ?? false }
                guard count < Redirect.most else { break }
                guard isLocal || !HostName.isLocal(redirect.host) else {
                    throw TunnelError.redirectRefused(host: hop.host, .local)
                }
                redirected(RedirectStep(from: hop.host, to: redirect.host))
                // Also where a relay sends to itself: its name may mean another address by now.
                hop = Hop(host: redirect.host, path: redirect.path, mayBeLocal: isLocal)
            } catch {
                learnt(opening.facts)
                throw error
            }
        }
        throw TunnelError.tooManyRedirects(host: hop.host)
    }
}
