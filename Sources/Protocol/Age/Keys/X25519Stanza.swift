// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// A stanza `X25519`: a file key for the holder of a secret key of age.
package struct X25519Stanza: Hashable, Sendable {
    /// The type.
    package static let type = "X25519"

    private let share: [UInt8]
    private let body: [UInt8]

    /// Creates the stanza of a file key for a recipient; `nil` for a recipient of low order.
    package init?(_ fileKey: AgeFileKey, for recipient: AgeRecipient) {
        let ephemeral = AgeSecretKey.random()
        guard let secret = ephemeral.sharedSecret(with: recipient.bytes) else { return nil }
        share = ephemeral.recipient.bytes
        let key = Self.key(secret, share: share, recipient: recipient)
        guard let body = fileKey.wrapped(with: key) else { return nil }
        self.body = body
    }

    /// Creates the stanza from one of a file; `nil` for another type.
    ///
    /// - Throws: ``AgeFormatError/knownStanza``, also for a share of low order, which any person could have made.
    package init?(_ stanza: AgeStanza) throws(AgeFormatError) {
        guard stanza.type == Self.type else { return nil }
        guard stanza.arguments.count == 1, let share = Base64.decodeUnpadded(stanza.arguments[0].utf8),
            share.count == AgeRecipient.length, stanza.body.count == AgeFileKey.wrappedLength,
            AgeSecretKey.random().sharedSecret(with: share) != nil
        else { throw .knownStanza }
        (self.share, body) = (share, stanza.body)
    }

    /// The stanza as it is in a file.
    package var stanza: AgeStanza {
        AgeStanza(Self.type, [String(decoding: Base64.encodeUnpadded(share), as: UTF8.self)], body: body)
    }

    /// Returns the file key; `nil` if the stanza is for another recipient.
    package func open(with key: AgeSecretKey) -> AgeFileKey? {
        guard let secret = key.sharedSecret(with: share) else { return nil }
        return AgeFileKey(wrapped: body, key: Self.key(secret, share: share, recipient: key.recipient))
    }

    private static func key(_ secret: SharedSecret, share: [UInt8], recipient: AgeRecipient) -> SymmetricKey {
        secret.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: share + recipient.bytes,
            sharedInfo: Array("age-encryption.org/v1/X25519".utf8),
            outputByteCount: SHA256.byteCount
        )
    }
}
