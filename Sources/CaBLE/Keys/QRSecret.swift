// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// The 16 random bytes of a QR code, from which both ends derive the tunnel ID and their shared keys.
///
/// The secret is never sent over a network.
public struct QRSecret: Sendable, SecretMaterial, Equatable {
    /// Length in bytes.
    public static let length = 16

    let key: SymmetricKey

    /// Creates a secret from 16 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard let key = SymmetricKey(exactly: Self.length, bytes: bytes) else { return nil }
        self.key = key
    }

    /// Creates a random secret.
    ///
    /// - Parameter generator: A cryptographically secure generator.
    public init(using generator: inout some RandomNumberGenerator) {
        key = SymmetricKey(data: (0..<Self.length).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// The key that encrypts the advert of this session.
    public var eidKey: EIDKey {
        EIDKey(key: KeySchedule.derive(key, salt: [], purpose: .eidKey, length: EIDKey.length))
    }

    /// The ID of the tunnel of this session.
    public var tunnelID: TunnelID {
        let derived = KeySchedule.derive(key, salt: [], purpose: .tunnelID, length: TunnelID.length)
        return TunnelID(checked: derived.withUnsafeBytes { Array($0) })
    }

    /// Returns the handshake's pre-shared key, whose derivation requires the plaintext of the advert.
    public func psk(for eid: EID) -> PSK {
        PSK(key: KeySchedule.derive(key, salt: eid.plaintext, purpose: .psk, length: PSK.length))
    }
}

/// The 32-byte secret that a client shares with a linked authenticator.
public struct LinkSecret: Sendable, SecretMaterial, Equatable {
    /// Length in bytes.
    public static let length = 32

    let key: SymmetricKey

    /// Creates a secret from 32 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard let key = SymmetricKey(exactly: Self.length, bytes: bytes) else { return nil }
        self.key = key
    }

    /// Creates a random secret.
    ///
    /// - Parameter generator: A cryptographically secure generator.
    public init(using generator: inout some RandomNumberGenerator) {
        key = SymmetricKey(data: (0..<Self.length).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// Calls `body` with the 32 bytes, for a store of links.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try key.withUnsafeBytes(body)
    }

    /// Returns the key that encrypts the advert of a contact with this nonce.
    public func eidKey(nonce: ContactNonce) -> EIDKey {
        EIDKey(key: KeySchedule.derive(key, salt: nonce.bytes, purpose: .eidKey, length: EIDKey.length))
    }

    /// Returns the handshake's pre-shared key, whose derivation requires the plaintext of the advert.
    public func psk(for eid: EID) -> PSK {
        PSK(key: KeySchedule.derive(key, salt: eid.plaintext, purpose: .psk, length: PSK.length))
    }
}

/// The 16 bytes that a client chooses anew for each contact with a linked authenticator.
public struct ContactNonce: Hashable, Sendable {
    /// The 16 bytes.
    public let bytes: [UInt8]

    /// Creates a random nonce.
    ///
    /// - Parameter generator: A cryptographically secure generator.
    public init(using generator: inout some RandomNumberGenerator) {
        bytes = (0..<16).map { _ in .random(in: .min ... .max, using: &generator) }
    }

    /// Creates a nonce from 16 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        self.bytes = Array(bytes)
    }
}

/// The 64-byte key of an advert: an AES-256 key and an HMAC-SHA256 key.
public struct EIDKey: Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 64

    let encryption: SymmetricKey
    let authentication: SymmetricKey

    init(key: SymmetricKey) {
        self.encryption = key.part(0..<32)
        self.authentication = key.part(32..<64)
    }

    /// Creates a key from 64 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard let key = SymmetricKey(exactly: Self.length, bytes: bytes) else { return nil }
        self.init(key: key)
    }
}

/// The handshake's 32-byte pre-shared key, which proves reception of the advert.
public struct PSK: Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 32

    let key: SymmetricKey

    init(key: SymmetricKey) { self.key = key }

    /// Creates a key from 32 bytes; `nil` for another length.
    public init?(bytes: some Collection<UInt8>) {
        guard let key = SymmetricKey(exactly: Self.length, bytes: bytes) else { return nil }
        self.key = key
    }
}

extension SymmetricKey {
    fileprivate init?(exactly length: Int, bytes: some Collection<UInt8>) {
        guard bytes.count == length else { return nil }
        self.init(data: Array(bytes))
    }
}
