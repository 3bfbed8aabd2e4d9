// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// The 16 random bytes of a QR code, from which both ends derive the tunnel ID and their shared keys.
///
/// The secret is never sent over a network.
public struct QRSecret: RandomlyChosenBytes, Sendable, SecretMaterial, Equatable {
    /// Length in bytes.
    public static let length = 16

    let key: SymmetricKey

    init(key: SymmetricKey) { self.key = key }

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { key = SymmetricKey(data: Array(bytes)) }

    /// The key that encrypts the advert of this session.
    public var eidKey: EIDKey { KeySchedule.eidKey(key, salt: []) }

    /// The ID of the tunnel of this session.
    public var tunnelID: TunnelID { KeySchedule.tunnelID(key) }

    /// Returns the handshake's pre-shared key, whose derivation requires the plaintext of the advert.
    public func psk(for eid: EID) -> PSK { KeySchedule.psk(key, for: eid) }
}

/// The 16 random bytes of a ``TransferCode``, from which both ends derive the tunnel ID and their shared keys.
///
/// No derived key is equal to one of a sign-in, even from the same bytes. The secret is never sent over a network.
public struct TransferSecret: RandomlyChosenBytes, Sendable, SecretMaterial, Equatable {
    /// Length in bytes.
    public static let length = 16

    let key: SymmetricKey

    init(key: SymmetricKey) { self.key = key }

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { key = SymmetricKey(data: Array(bytes)) }
}

/// The 32-byte secret that a client shares with a linked authenticator.
public struct LinkSecret: RandomlyChosenBytes, Sendable, SecretMaterial, Equatable {
    /// Length in bytes.
    public static let length = 32

    let key: SymmetricKey

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { key = SymmetricKey(data: Array(bytes)) }

    /// Calls `body` with the 32 bytes, for a store of links.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }

    /// Returns the key that encrypts the advert of a contact with this nonce.
    public func eidKey(nonce: ContactNonce) -> EIDKey { KeySchedule.eidKey(key, salt: nonce.bytes) }

    /// Returns the handshake's pre-shared key, whose derivation requires the plaintext of the advert.
    public func psk(for eid: EID) -> PSK { KeySchedule.psk(key, for: eid) }
}

/// The 16 bytes that a client chooses anew for each contact with a linked authenticator.
public struct ContactNonce: RandomlyChosenBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 16

    /// The 16 bytes.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }
}

/// The 64-byte key of an advert: an AES-256 key and an HMAC-SHA256 key.
public struct EIDKey: FixedLengthBytes, Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 64

    let encryption: SymmetricKey
    let authentication: SymmetricKey

    init(key: SymmetricKey) {
        self.encryption = key.part(0..<32)
        self.authentication = key.part(32..<64)
    }

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.init(key: SymmetricKey(data: Array(bytes))) }
}

/// The handshake's 32-byte pre-shared key, which proves that the advert was received.
public struct PSK: FixedLengthBytes, Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 32

    let key: SymmetricKey

    init(key: SymmetricKey) { self.key = key }

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { key = SymmetricKey(data: Array(bytes)) }
}
