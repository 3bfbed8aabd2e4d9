// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The name or the address that a server's certificate must be for (RFC 9525).
///
/// Only the subject's alternative names count, never its common name: DNS names for a name, and addresses for an
/// address literal. A certificate for the address behind a name is not one for the name, because DNS or a proxy chooses
/// that address.
struct ReferenceIdentity: Sendable {
    private let host: String
    private let address: IPAddress?

    /// Creates the identity of a host as it was named: a name without a trailing dot, or an address without brackets.
    init(host: String) {
        self.host = host.lowercased()
        address = IPAddress(host)
    }

    /// Returns true if the certificate is for this host, regardless of its issuer.
    func isPresented(by certificate: PeerCertificate) -> Bool {
        certificate.dnsNames.contains(where: matches(dnsName:))
            || certificate.addresses.contains(where: matches(address:))
    }

    /// Returns true if this is a name and equals a certificate's DNS name.
    ///
    /// `*` stands for one label if it is the whole left-most label and two more follow.
    func matches(dnsName: some Collection<UInt8>) -> Bool {
        guard address == nil else { return false }
        let dot = UInt8(ascii: ".")
        let wanted = host.utf8.split(separator: dot, omittingEmptySubsequences: false)
        // ASCII letters only: Unicode has others whose lower case is an ASCII letter.
        let lower = dnsName.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        let presented = lower.split(separator: dot, omittingEmptySubsequences: false)
        guard wanted.count == presented.count, let first = presented.first else { return false }
        let isWildcard = first.elementsEqual("*".utf8) && presented.count >= 3
        let ignored = isWildcard ? 1 : 0
        return zip(wanted, presented).dropFirst(ignored).allSatisfy { $0.elementsEqual($1) }
    }

    /// Returns true if this is an address literal and equals an address of a certificate, 4 or 16 bytes.
    func matches(address presented: some Collection<UInt8>) -> Bool {
        address?.bytes.elementsEqual(presented) ?? false
    }
}
