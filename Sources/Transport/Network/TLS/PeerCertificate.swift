// SPDX-License-Identifier: Apache-2.0

internal import HybridBoringTLS

/// The contents of a certificate that a server presented, verified or not.
package struct PeerCertificate: Equatable, Sendable {
    /// The certificate (RFC 5280 §4.1) in DER.
    let der: [UInt8]
    /// Start of the validity period, in seconds since 1970; `nil` if it cannot be read.
    let notBefore: Int?
    /// End of the validity period, in seconds since 1970; `nil` if it cannot be read.
    let notAfter: Int?
    /// The subject's alternative names that are DNS names.
    let dnsNames: [[UInt8]]
    /// The subject's alternative names that are IP addresses, normally 4 or 16 bytes.
    let addresses: [[UInt8]]

    /// Reads a certificate; `nil` if there is no memory.
    init?(_ certificate: borrowing Certificate) {
        guard let der = certificate.der else { return nil }
        self.der = der
        (notBefore, notAfter) = (certificate.notBefore, certificate.notAfter)
        (dnsNames, addresses) = certificate.alternativeNames
    }
}
