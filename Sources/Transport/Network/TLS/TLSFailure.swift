// SPDX-License-Identifier: Apache-2.0

/// The cause of a failed TLS connection.
package enum TLSFailure: Error, Hashable, Sendable {
    /// The certificate is not trusted, whatever its dates.
    case certificateNotTrusted
    /// The certificate, or one of its issuers, is no longer valid; its chain leads to a trusted authority.
    case certificateExpired
    /// The certificate, or one of its issuers, is not valid yet; its chain leads to a trusted authority.
    case certificateNotYetValid
    /// The certificate is for other hosts.
    case otherHost
    /// The connection ended during the handshake.
    case cutOff
    /// The connection ended without the message that TLS ends with.
    case unannouncedEnd
    /// The server sent something else than TLS.
    case notTLS
    /// The server supports no common version.
    case version
    /// The server supports no common cipher, group or signature algorithm.
    case cipher
    /// The server sent this alert: its name, or its number if BoringSSL has no name for it.
    case alert(String)
    /// The server no longer supports what its session promised; without early data, the connection may succeed.
    case earlyData
    /// Another cause, in BoringSSL's words, if it has any.
    case other(String?)

    /// The result of the verification of a certificate's chain.
    enum Verification {
        case untrusted, expired, notYetValid
    }

    /// Reads the reasons in BoringSSL's error queue, in the order in which they arose.
    ///
    /// Except for two, the first reason is the cause.
    ///
    /// - Parameters:
    ///   - reasons: BoringSSL's names of the reasons, or `reason(N)` if it has none.
    ///   - verification: The result for the chain, which counts if the verification failed.
    init(reasons: [String], _ verification: Verification) {
        // Failed attempts to verify the certificate's chain may precede this one, such as a bad signature.
        if reasons.contains("CERTIFICATE_VERIFY_FAILED") {
            switch verification {
            case .untrusted: self = .certificateNotTrusted
            case .expired: self = .certificateExpired
            case .notYetValid: self = .certificateNotYetValid
            }
            return
        }
        // BoringSSL adds this one if the alert is the answer to the client's offer.
        if reasons.contains("HANDSHAKE_FAILURE_ON_CLIENT_HELLO") {
            self = .cipher
            return
        }
        switch reasons.first {
        case "WRONG_VERSION_NUMBER"?: self = .notTLS
        case "UNSUPPORTED_PROTOCOL"?, "TLSV1_ALERT_PROTOCOL_VERSION"?: self = .version
        case "TLSV1_ALERT_INSUFFICIENT_SECURITY"?, "NO_COMMON_SIGNATURE_ALGORITHMS"?: self = .cipher
        case let reason? where reason.hasSuffix("_ON_EARLY_DATA"): self = .earlyData
        case let reason?: self = Self.alert(reason).map(Self.alert) ?? .other(Self.words(reason))
        case nil: self = .other(nil)
        }
    }

    /// Returns the name of an alert; its number if BoringSSL knows none.
    private static func alert(_ reason: String) -> String? {
        for prefix in ["SSLV3_ALERT_", "TLSV1_ALERT_"] where reason.hasPrefix(prefix) {
            return reason.dropFirst(prefix.count).lowercased()
        }
        guard let number = reason.wholeMatch(of: #/reason\(1([0-9]{3})\)/#).flatMap({ UInt8($0.1) }) else { return nil }
        return "\(number)"
    }

    private static func words(_ reason: String) -> String { reason.lowercased().replacing("_", with: " ") }
}
