// SPDX-License-Identifier: Apache-2.0

internal import NIOSSL

/// The cause of a failed TLS connection.
///
/// NIOSSL describes errors with BoringSSL's numbers and source paths, which are never shown.
package enum TLSFailure: Error, Hashable, Sendable {
    /// The certificate is not trusted, or outside its validity.
    case certificateRejected
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
    /// Another cause, in BoringSSL's words, if it has any.
    case other(String?)

    /// Reads an error of NIOSSL; `nil` for other errors, and for those that say nothing about TLS.
    package init?(_ error: any Error) {
        switch error {
        case let error as NIOSSLExtraError:
            let isOtherHost = error == .failedToValidateHostname || error == .serverHostnameImpossibleToMatch
            self = isOtherHost ? .otherHost : .other(nil)
        case NIOSSLError.uncleanShutdown: self = .unannouncedEnd
        case NIOSSLError.handshakeFailed(let error), NIOSSLError.shutdownFailed(let error): self.init(stackOf: error)
        case is NIOSSLError: self = .other(nil)
        // Alerts behind the handshake come without a wrapper.
        case let error as BoringSSLError where error.stack != nil: self.init(stackOf: error)
        default: return nil
        }
    }

    private init(stackOf error: BoringSSLError) {
        let stack = error.stack ?? []
        guard !stack.contains(.eofDuringHandshake), !stack.contains(.eofDuringAdditionalCertficiateChainValidation)
        else {
            self = .cutOff
            return
        }
        self.init(reasons: stack.compactMap { Self.reason(in: "\($0)") })
    }

    /// Returns the reason in a description of a BoringSSL error, which contains
    /// `error:…:SSL routines:OPENSSL_internal:REASON at …`.
    static func reason(in description: String) -> String? {
        guard let marker = description.firstRange(of: ":OPENSSL_internal:") else { return nil }
        let reason = description[marker.upperBound...].prefix { $0 != " " }
        return reason.isEmpty ? nil : String(reason)
    }

    /// Reads the reasons of an error stack.
    ///
    /// Except for two, the first reason is the cause.
    init(reasons: [String]) {
        // Failed attempts to verify the certificate's chain may precede this one, such as a bad signature.
        if reasons.contains("CERTIFICATE_VERIFY_FAILED") {
            self = .certificateRejected
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

extension BoringSSLError {
    /// BoringSSL's errors in the order in which they arose.
    fileprivate var stack: NIOBoringSSLErrorStack? {
        switch self {
        case .sslError(let stack), .unknownError(let stack), .invalidSNIName(let stack), .failedToSetALPN(let stack):
            stack
        default: nil
        }
    }
}
