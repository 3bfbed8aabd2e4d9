// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridNetwork

@Suite("Reasons of TLS failures")
struct TLSFailureTests {
    @Test("A verdict about the certificate precedes other reasons, and alerts have names or numbers")
    func reasons() {
        let cases: [([String], TLSFailure)] = [
            (["CERTIFICATE_VERIFY_FAILED"], .certificateNotTrusted), (["UNSUPPORTED_PROTOCOL"], .version),
            (["BAD_SIGNATURE", "EVP_LIB", "CERTIFICATE_VERIFY_FAILED"], .certificateNotTrusted),
            (["SSLV3_ALERT_HANDSHAKE_FAILURE"], .alert("handshake_failure")),
            (["SSLV3_ALERT_HANDSHAKE_FAILURE", "HANDSHAKE_FAILURE_ON_CLIENT_HELLO"], .cipher),
            (["reason(1200)"], .alert("200")), (["reason(1256)"], .other("reason(1256)")),
            (["reason(200)"], .other("reason(200)")), ([], .other(nil)),
            (["WRONG_VERSION_ON_EARLY_DATA"], .earlyData), (["ALPN_MISMATCH_ON_EARLY_DATA"], .earlyData),
        ]
        for (reasons, failure) in cases { #expect(TLSFailure(reasons: reasons, .untrusted) == failure, "\(reasons)") }
        #expect(TLSFailure(reasons: ["CERTIFICATE_VERIFY_FAILED"], .expired) == .certificateExpired)
        #expect(TLSFailure(reasons: ["CERTIFICATE_VERIFY_FAILED"], .notYetValid) == .certificateNotYetValid)
        // Nothing was verified here, so BoringSSL's last result is none.
        #expect(TLSFailure(reasons: ["UNSUPPORTED_PROTOCOL"], .expired) == .version)
    }
}
