// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridDataChannel

/// How relays are reached from here, whichever the phone names.
public struct RelayRoute: Sendable {
    /// Detours, as curl's `--connect-to`; the first that applies is taken.
    public var detours: [ConnectTo]
    /// A file of certificates trusted instead of the system's, as curl's `--cacert`.
    public var trustedCertificates: String?
    /// Which proxies lead to which hosts.
    public var proxies: ProxySettings

    /// The ordinary road, a detour, or the way through a proxy.
    public init(detours: [ConnectTo] = [], trustedCertificates: String? = nil, proxies: ProxySettings = .none) {
        self.detours = detours
        self.trustedCertificates = trustedCertificates
        self.proxies = proxies
    }

    /// Where a relay is.
    public func location(of domain: TunnelDomain) -> RelayEndpoint {
        RelayEndpoint(
            domain: domain,
            detours: detours,
            trustedCertificates: trustedCertificates,
            proxies: proxies
        )
    }
}
