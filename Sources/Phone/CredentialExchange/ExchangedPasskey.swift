// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator
package import HybridCTAP
internal import HybridPrimitives

/// A passkey with its private key, as files of other programs contain it.
package struct ExchangedPasskey: SecretMaterial, Sendable {
    /// The identity of a passkey: two passkeys with equal identities are the same passkey.
    package struct ID: Hashable, Sendable {
        package let relyingParty: RelyingPartyID
        package let credential: CredentialID

        package init(relyingParty: RelyingPartyID, credential: CredentialID) {
            self.relyingParty = relyingParty
            self.credential = credential
        }
    }

    /// The passkey.
    ///
    /// The formats do not state whether it is hidden or which data it signs; only ``rest`` may.
    package let passkey: Passkey
    /// Time of creation in seconds since 1970; `nil` if unknown.
    package let created: UInt64?
    /// The secret of `hmac-secret` for users who were not verified (32 bytes); `nil` if it is the derived one.
    package let otherSecret: [UInt8]?
    /// Extensions that are only kept for export.
    package let foreign: ForeignExtensions
    /// Members for which the format has no place, encoded by this program; `nil` if there are none.
    package let rest: [UInt8]?

    package var id: ID { ID(relyingParty: passkey.relyingParty, credential: passkey.id) }
    package var label: PasskeyLabel { PasskeyLabel(site: passkey.relyingParty.text, account: passkey.user.name) }

    /// Creates a passkey from its parts.
    package init(
        passkey: Passkey,
        created: UInt64?,
        otherSecret: [UInt8]?,
        foreign: ForeignExtensions,
        rest: [UInt8]?
    ) {
        self.passkey = passkey
        self.created = created
        self.otherSecret = otherSecret
        self.foreign = foreign
        self.rest = rest
    }

    /// Derives the secret for users who were not verified from the passkey's own secret.
    ///
    /// The format requires both secrets. The derived secret is always the same, so repeated exports agree. A client
    /// cannot obtain it through `prf`: those outputs are HMACs with the secret as key, and this is an HMAC of the
    /// secret.
    static func otherSecret(of secret: [UInt8], credential: CredentialID) -> [UInt8] {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret),
            salt: credential.bytes,
            info: Array("credWithoutUV".utf8),
            outputByteCount: 32
        )
        .withUnsafeBytes { Array($0) }
    }
}

/// Extensions of a passkey that are not used here and are kept for export.
package struct ForeignExtensions: Equatable, Sendable {
    /// The value of `credBlob`.
    package var blob: [UInt8]?
    /// The value of `largeBlob`: its uncompressed length in bytes and its compressed content.
    package var largeBlob: LargeBlob?
    /// The value of `payments`.
    package var payments: Bool?

    package struct LargeBlob: Equatable, Sendable {
        package let size: UInt64
        package let data: [UInt8]

        package init(size: UInt64, data: [UInt8]) {
            self.size = size
            self.data = data
        }
    }

    /// Creates an empty value.
    package init() {}

    /// True if there are no extensions.
    var isEmpty: Bool { self == ForeignExtensions() }
}
