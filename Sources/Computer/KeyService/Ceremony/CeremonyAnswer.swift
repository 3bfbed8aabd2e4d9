// SPDX-License-Identifier: Apache-2.0

/// The answer of a ceremony that a phone has performed, as its process writes it.
///
/// The encoding is 1 byte ‖ name of the linked phone in UTF-8 ‖ CTAP response with its status byte. The highest bit of the
/// byte is set if the signature was verified; the others are the length of the name, 0 if a phone has scanned the code.
package struct CeremonyAnswer: Hashable, Sendable {
    /// The CTAP response as received, with its status byte.
    package let response: [UInt8]
    /// The name of the linked phone that has answered; `nil` for a phone that has scanned the code.
    ///
    /// It may differ from the phone that the user has named, because the code appears if that one does not answer.
    package let phone: String?
    /// True if the signature is that of the passkey, whose public key is known here since its creation.
    package let isVerified: Bool

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - response: The CTAP response with its status byte.
    ///   - phone: The name of the linked phone, 1 to 127 bytes; `nil` for a phone that has scanned the code.
    ///   - isVerified: True if the signature was verified.
    package init(response: [UInt8], phone: String?, isVerified: Bool = false) {
        (self.response, self.phone, self.isVerified) = (response, phone, isVerified)
    }

    private static let verified: UInt8 = 0x80

    /// The encoding.
    package var encoded: [UInt8] {
        let name = Array((phone ?? "").utf8.prefix(Int(Self.verified) - 1))
        return [UInt8(name.count) | (isVerified ? Self.verified : 0)] + name + response
    }

    /// Creates an answer from its encoding; `nil` if the name is damaged or there is no response.
    package init?(parsing bytes: [UInt8]) {
        guard let first = bytes.first else { return nil }
        let end = 1 + Int(first & ~Self.verified)
        guard bytes.count > end, let name = String(validating: bytes[1..<end], as: UTF8.self) else { return nil }
        (response, phone) = (Array(bytes[end...]), name.isEmpty ? nil : name)
        isVerified = first & Self.verified != 0
    }
}
