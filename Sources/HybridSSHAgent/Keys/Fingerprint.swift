// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The SHA-256 fingerprint of a public key.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    /// `SHA256:` and the hash in base64 without padding, as OpenSSH prints it.
    public let description: String

    /// Creates the fingerprint of an encoded key.
    init(ofKey blob: [UInt8]) {
        let digits = Base64.encode(Array(SHA256.hash(data: blob))).prefix { $0 != UInt8(ascii: "=") }
        description = "SHA256:" + String(decoding: digits, as: UTF8.self)
    }

    /// Creates a fingerprint from its text; returns `nil` unless the text is `SHA256:` and 43 base64 characters.
    public init?(_ text: String) {
        let digits = text.utf8.dropFirst(7)
        guard text.hasPrefix("SHA256:"), digits.count == 43,
            digits.allSatisfy({ NameByte.isAllowed($0, besides: "+/") })
        else { return nil }
        description = text
    }
}
