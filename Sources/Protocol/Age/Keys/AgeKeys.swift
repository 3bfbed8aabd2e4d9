// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// A public key of age (X25519, 32 bytes), to which anybody can encrypt; as text `age1…`.
package struct AgeRecipient: FixedLengthBytes, Hashable, Sendable, CustomStringConvertible {
    /// Length in bytes.
    package static let length = 32
    private static let prefix = "age"

    /// The 32 bytes.
    package let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    package init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// Creates a key from its text.
    ///
    /// - Throws: ``AgeFormatError/recipient``, also for a key of low order, which protects nothing.
    package init(parsing text: String) throws(AgeFormatError) {
        guard let (prefix, data) = Bech32.decode(text.utf8), prefix == Self.prefix,
            let key = AgeRecipient(bytes: data), AgeSecretKey.random().sharedSecret(with: key.bytes) != nil
        else { throw .recipient }
        self = key
    }

    /// The text `age1…`.
    package var description: String { String(decoding: Bech32.encode(prefix: Self.prefix, bytes), as: UTF8.self) }
}

/// A secret key of age (X25519, 32 bytes); as text `AGE-SECRET-KEY-1…`.
///
/// It is never printed by mistake, and wiped on release.
package struct AgeSecretKey: SecretMaterial, Sendable {
    private static let prefix = "age-secret-key-"

    private let key: Curve25519.KeyAgreement.PrivateKey

    /// Creates a new key from the system's random source.
    package static func random() -> AgeSecretKey { AgeSecretKey(key: Curve25519.KeyAgreement.PrivateKey()) }

    private init(key: Curve25519.KeyAgreement.PrivateKey) { self.key = key }

    /// Creates a key from its text, without spaces and line ends.
    ///
    /// - Throws: ``AgeFormatError/secretKey``.
    package init(parsing text: some Collection<UInt8>) throws(AgeFormatError) {
        guard let (prefix, decoded) = Bech32.decode(text), prefix == Self.prefix else { throw .secretKey }
        var data = decoded
        defer { SecretBytes.wipe(&data) }
        guard let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: data) else { throw .secretKey }
        self.key = key
    }

    /// Creates the key in the lines of an identity file, where other lines are empty or begin with `#`.
    ///
    /// - Throws: ``AgeFormatError/secretKey`` unless exactly one key is there.
    package init(lines text: some Collection<UInt8>) throws(AgeFormatError) {
        let lines = text.split(separator: UInt8(ascii: "\n"))
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
            .filter { !$0.isEmpty && $0.first != UInt8(ascii: "#") }
        guard let line = lines.first, lines.count == 1 else { throw .secretKey }
        try self.init(parsing: line)
    }

    /// The text `AGE-SECRET-KEY-1…` in ASCII, which its owner wipes.
    package var text: [UInt8] {
        var bytes = Array(key.rawRepresentation)
        defer { SecretBytes.wipe(&bytes) }
        var lower = Bech32.encode(prefix: Self.prefix, bytes)
        defer { SecretBytes.wipe(&lower) }
        return lower.map { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & 0xDF : byte
        }
    }

    /// The public key.
    package var recipient: AgeRecipient { AgeRecipient(checked: key.publicKey.rawRepresentation) }

    /// Returns the secret that is shared with a public key; `nil` for a key of low order.
    func sharedSecret(with publicKey: [UInt8]) -> SharedSecret? {
        guard let other = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
            let secret = try? key.sharedSecretFromKeyAgreement(with: other),
            secret.withUnsafeBytes({ $0.contains { $0 != 0 } })
        else { return nil }
        return secret
    }

    /// Returns the secret for a purpose, which this key determines: always the same 32 bytes.
    ///
    /// HKDF-SHA-256 of the key with a salt of 32 zero bytes and the info `hybrid-key secret v1`, a zero byte and the purpose.
    package func named(_ purpose: SecretPurpose) -> NamedSecret {
        let info = Array("hybrid-key secret v1".utf8) + [0] + purpose.text.utf8
        let input = SymmetricKey(data: key.rawRepresentation)
        let salt = [UInt8](repeating: 0, count: 32)
        return NamedSecret(
            HKDF<SHA256>.deriveKey(inputKeyMaterial: input, salt: salt, info: info, outputByteCount: 32)
        )
    }
}

/// The purpose of a named secret, such as `restic:laptop`: 1 to 255 bytes of UTF-8 without control characters.
///
/// U+FFFD is refused: it stands for bytes that are not UTF-8, and different ones would give one secret.
package struct SecretPurpose: Hashable, Sendable {
    /// Maximum length in bytes.
    package static let maximumLength = 255

    /// The text.
    package let text: String

    /// Creates a purpose; `nil` for any other text.
    package init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0 != "\u{FFFD}" && $0.properties.generalCategory != .control })
        else { return nil }
        self.text = text
    }
}

/// A secret for one purpose, 32 bytes.
package struct NamedSecret: SecretMaterial, Sendable {
    private let key: SymmetricKey

    fileprivate init(_ key: SymmetricKey) { self.key = key }

    /// A copy of the 32 bytes; the caller must wipe it.
    package var bytes: [UInt8] { key.withUnsafeBytes { Array($0) } }

    /// The bytes in base64url, 43 characters of ASCII; the caller must wipe them.
    package var text: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(43)
        key.withUnsafeBytes { Base64URL.append($0, to: &text) }
        return text
    }
}
