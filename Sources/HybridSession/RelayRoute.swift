// SPDX-License-Identifier: Apache-2.0

public import CaBLE
public import DataChannel

/// How relays are reached from here, whichever the phone names.
public struct RelayRoute: Sendable {
    /// A detour, as curl's `--connect-to`.
    public var detour: Detour?
    /// A file of certificates trusted instead of the system's, as curl's `--cacert`.
    public var trustedCertificates: String?

    /// The ordinary road, or a detour.
    public init(detour: Detour? = nil, trustedCertificates: String? = nil) {
        self.detour = detour
        self.trustedCertificates = trustedCertificates
    }

    /// Where a relay is.
    public func location(of domain: TunnelDomain) -> RelayLocation {
        RelayLocation(domain: domain, detour: detour, trustedCertificates: trustedCertificates)
    }
}
