// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridPrimitives

/// The keys that both ends derive from a code, of a sign-in or of a transfer.
///
/// A session needs nothing else of the code until the handshake is complete. The derivation and the handshake depend on the
/// kind of the code, so an advert or message of a sign-in is never valid in a transfer, nor the reverse.
public struct CodeKeys: Sendable, SecretMaterial {
    /// Public key of the device that shows the code, which is the client of a sign-in and the receiver of a transfer.
    public let publicKey: P256.KeyAgreement.PublicKey
    /// Channels that this device offers.
    public let channels: [DataChannelKind]
    private let secret: SymmetricKey
    private let ceremony: CodeCeremony

    init(
        publicKey: P256.KeyAgreement.PublicKey,
        secret: SymmetricKey,
        ceremony: CodeCeremony,
        channels: [DataChannelKind]
    ) {
        (self.publicKey, self.secret, self.ceremony, self.channels) = (publicKey, secret, ceremony, channels)
    }

    /// The key that encrypts the advert of this session.
    public var eidKey: EIDKey { KeySchedule.eidKey(secret, salt: [], ceremony) }

    /// The ID of the tunnel of this session.
    public var tunnelID: TunnelID { KeySchedule.tunnelID(secret, ceremony) }

    /// Returns the handshake of the device that shows the code, after it has received the advert.
    ///
    /// - Parameters:
    ///   - privateKey: The private key of ``publicKey``.
    ///   - eid: The plaintext of the advert.
    ///   - ephemeral: A new key.
    public func initiatorHandshake(
        _ privateKey: P256.KeyAgreement.PrivateKey,
        _ eid: EID,
        ephemeral: P256.KeyAgreement.PrivateKey
    ) throws(HandshakeError) -> InitiatorHandshake {
        try InitiatorHandshake(
            clientKey: privateKey,
            psk: KeySchedule.psk(secret, for: eid, ceremony),
            ephemeral: ephemeral,
            ceremony: ceremony
        )
    }

    /// Returns the handshake of the device that scanned the code, which sends the advert.
    ///
    /// - Parameters:
    ///   - eid: The plaintext of the advert.
    ///   - ephemeral: A new key.
    public func responderHandshake(_ eid: EID, ephemeral: P256.KeyAgreement.PrivateKey) -> ResponderHandshake {
        ResponderHandshake(
            clientKey: publicKey,
            psk: KeySchedule.psk(secret, for: eid, ceremony),
            ephemeral: ephemeral,
            ceremony: ceremony
        )
    }
}

extension QROffer {
    /// The keys that both ends derive from this code.
    public var keys: CodeKeys {
        CodeKeys(publicKey: clientKey, secret: secret.key, ceremony: .signIn, channels: channels)
    }
}
