// SPDX-License-Identifier: Apache-2.0

internal import HybridBoringTLS

/// The parts of a certificate chain by which an operator's mistakes show.
///
/// A relay also uses a chain that has expired or is incomplete: without one, no client could connect, and clients differ
/// in what they accept.
public struct CertificateChain: Hashable, Sendable {
    /// Latest start of a certificate in seconds since 1970; `nil` if it cannot be read.
    public private(set) var start: Int?
    /// Earliest expiry of a certificate in seconds since 1970; `nil` if it cannot be read.
    public private(set) var expiry: Int?
    /// Number of certificates.
    public private(set) var count = 0
    /// True if each certificate is issued and signed by the next certificate.
    private var isLinked = true
    /// True if the last certificate is its own issuer.
    private var endsWithRoot = false

    /// Reads a PEM chain; `nil` if it has no certificate.
    init?(parsing pem: [UInt8]) {
        var chain = CertificateChain()
        var last: (issuer: [UInt8], der: [UInt8])?
        // Whatever follows the certificates does not matter here.
        _ = PEM.certificates(in: pem) { certificate in
            chain.add(certificate, after: last)
            last = (certificate.issuer, certificate.der ?? [])
            return true
        }
        guard chain.count > 0 else { return nil }
        self = chain
    }

    private init() {}

    private mutating func add(_ certificate: borrowing Certificate, after last: (issuer: [UInt8], der: [UInt8])?) {
        count += 1
        if let first = certificate.notBefore { start = max(start ?? .min, first) }
        if let last = certificate.notAfter { expiry = min(expiry ?? .max, last) }
        let subject = certificate.subject
        // An authority may have a second certificate of the same name with another key.
        if let last, last.issuer != subject || !certificate.hasSigned(last.der) { isLinked = false }
        endsWithRoot = subject == certificate.issuer
    }

    /// Returns the reason why clients may refuse the chain, as the end of a sentence; `nil` if none is known.
    ///
    /// - Parameters:
    ///   - old: The chain that this one replaces, if any. A private authority may issue certificates itself, so a single
    ///     certificate is incomplete only if there were more.
    ///   - now: The current time in seconds since 1970.
    public func problem(replacing old: CertificateChain?, now: Int) -> String? {
        if let expiry, expiry <= now { return "a certificate has expired" }
        if let start, start > now { return "a certificate is not valid yet" }
        if !isLinked { return "a certificate's issuer is not the next one in the file" }
        return isIncomplete(replacing: old) ? "the issuers' certificates are missing" : nil
    }

    /// Returns true if the issuers' certificates are missing, which the chain that this one replaces had.
    public func isIncomplete(replacing old: CertificateChain?) -> Bool {
        guard let old else { return false }
        return count == 1 && !endsWithRoot && old.count > 1
    }
}
