// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCTAP

extension PRFSalt {
    /// SHA-256 of `WebAuthn PRF`, a zero byte and what the website gave (WebAuthn Level 3 §10.1.4).
    ///
    /// The hash keeps websites apart from others who ask the same authenticator by `hmac-secret` itself.
    init(hashing value: [UInt8]) {
        let digest = Array(SHA256.hash(data: Array("WebAuthn PRF".utf8) + [0] + value))
        guard let salt = PRFSalt(bytes: digest) else { preconditionFailure("SHA-256 has 32 bytes") }
        self = salt
    }
}
