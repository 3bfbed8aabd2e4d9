// SPDX-License-Identifier: Apache-2.0

internal import NIOSSL

/// What a certificate says of itself, whether or not it is trusted.
public struct PresentedCertificate: Equatable, Sendable {
    /// Who says to have issued it, 130 characters at most, fit for a terminal; `nil` where that can't be read.
    public let issuer: String?
    /// Whether it was issued by nobody but itself.
    public let isSelfSigned: Bool
    /// From when on it is valid, in seconds since 1970.
    public let notBefore: Int
    /// Until when it is valid, in seconds since 1970.
    public let notAfter: Int

    init(_ certificate: NIOSSLCertificate) {
        let name = (try? certificate.toDERBytes()).flatMap(IssuerName.init(certificate:))
        issuer = name?.text
        isSelfSigned = name?.isSelfSigned ?? false
        notBefore = Int(certificate.notValidBefore)
        notAfter = Int(certificate.notValidAfter)
    }
}
