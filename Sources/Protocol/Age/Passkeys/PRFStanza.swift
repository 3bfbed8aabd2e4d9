// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridCTAP
internal import HybridPrimitives

/// A stanza `age-encryption.org/fido2prf`: a file key for a passkey, as typage defines it.
///
///     inputs = type ‖ 01 ‖ nonce, type ‖ 02 ‖ nonce
///     key    = HMAC-SHA-256(type, first result ‖ second result)
///     body   = ChaCha20-Poly1305(key, nonce of 12 zero bytes, file key)
///
/// The stanza names no passkey.
package struct PRFStanza: Hashable, Sendable {
    /// The type.
    package static let type = "age-encryption.org/fido2prf"

    /// The nonce, from which the inputs of the passkey follow.
    package let nonce: PRFNonce
    private let body: [UInt8]

    /// Creates the stanza of a file key.
    ///
    /// - Parameters:
    ///   - fileKey: The file key. A second one under the same nonce and passkey would reveal both.
    ///   - key: The key from the passkey's results.
    ///   - nonce: The nonce of the results.
    package init?(_ fileKey: AgeFileKey, key: PRFKey, nonce: PRFNonce) {
        guard let body = fileKey.wrapped(with: key.key) else { return nil }
        (self.nonce, self.body) = (nonce, body)
    }

    /// Creates the stanza from one of a file; `nil` for another type.
    ///
    /// - Throws: ``AgeFormatError/knownStanza``.
    package init?(_ stanza: AgeStanza) throws(AgeFormatError) {
        guard stanza.type == Self.type else { return nil }
        guard stanza.arguments.count == 1, let bytes = Base64.decodeUnpadded(stanza.arguments[0].utf8),
            let nonce = PRFNonce(bytes: bytes), stanza.body.count == AgeFileKey.wrappedLength
        else { throw .knownStanza }
        (self.nonce, body) = (nonce, stanza.body)
    }

    /// The stanza as it is in a file.
    package var stanza: AgeStanza {
        AgeStanza(Self.type, [String(decoding: Base64.encodeUnpadded(nonce.bytes), as: UTF8.self)], body: body)
    }

    /// Returns the file key; `nil` if the results are those of another passkey.
    package func open(with key: PRFKey) -> AgeFileKey? { AgeFileKey(wrapped: body, key: key.key) }
}

/// The nonce of a stanza, 16 bytes.
package struct PRFNonce: RandomlyChosenBytes, Hashable, Sendable {
    /// Length in bytes.
    package static let length = 16

    /// The 16 bytes.
    package let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    package init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// The salts for the passkey.
    package var salts: PRFSalts {
        PRFSalts(first: PRFSalt(hashing: input(1)), second: PRFSalt(hashing: input(2)))
    }

    private func input(_ number: UInt8) -> [UInt8] { Array(PRFStanza.type.utf8) + [number] + bytes }
}

/// The key from both results of a passkey, 32 secret bytes.
package struct PRFKey: SecretMaterial, Sendable {
    fileprivate let key: SymmetricKey

    /// Creates the key; `nil` if a result is missing.
    package init?(_ output: PRFOutput?) {
        guard let first = output?.first, let second = output?.second else { return nil }
        var results = first.bytes + second.bytes
        defer { SecretBytes.wipe(&results) }
        let salt = SymmetricKey(data: Array(PRFStanza.type.utf8))
        key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: results, using: salt))
    }
}
