// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridPrimitives

/// The 16 random bytes of a QR code, from which everything but the client's key is derived.
///
/// It goes from screen to camera and never over a network.
public struct QRSecret: Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 16

    let key: SymmetricKey

    /// Takes exactly 16 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard let key = SymmetricKey(exactly: Self.length, bytes: bytes) else { return nil }
        self.key = key
    }

    /// A fresh secret.
    public init(using generator: inout some RandomNumberGenerator) {
        self.key = SymmetricKey(randomBytes: Self.length, using: &generator)
    }

    /// The key that opens and seals this ceremony's advert.
    public var eidKey: EIDKey {
        EIDKey(key: KeySchedule.derive(key, salt: [], purpose: .eidKey, length: EIDKey.length))
    }

    /// The name of this ceremony's tunnel.
    public var tunnelID: TunnelID {
        let derived = KeySchedule.derive(key, salt: [], purpose: .tunnelID, length: TunnelID.length)
        return TunnelID(derived: derived.withUnsafeBytes { Array($0) })
    }

    /// The handshake's pre-shared key, which only somebody who heard the advert can compute.
    public func psk(heard eid: EID) -> PSK {
        PSK(key: KeySchedule.derive(key, salt: eid.plaintext, purpose: .psk, length: PSK.length))
    }

    /// Whether two secrets are the same, in constant time.
    public static func == (left: QRSecret, right: QRSecret) -> Bool { left.key == right.key }
}

extension QRSecret: Equatable {}

/// The 32-byte secret that a linked phone and a client share.
public struct LinkSecret: Sendable, SecretMaterial, Equatable {
    /// Length in bytes.
    public static let length = 32

    let key: SymmetricKey

    /// Takes exactly 32 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard let key = SymmetricKey(exactly: Self.length, bytes: bytes) else { return nil }
        self.key = key
    }

    /// The key that opens and seals the advert of a contact with this nonce.
    public func eidKey(nonce: ContactNonce) -> EIDKey {
        EIDKey(key: KeySchedule.derive(key, salt: nonce.bytes, purpose: .eidKey, length: EIDKey.length))
    }

    /// The handshake's pre-shared key, which only somebody who heard the advert can compute.
    public func psk(heard eid: EID) -> PSK {
        PSK(key: KeySchedule.derive(key, salt: eid.plaintext, purpose: .psk, length: PSK.length))
    }

    /// Whether two secrets are the same, in constant time.
    public static func == (left: LinkSecret, right: LinkSecret) -> Bool { left.key == right.key }
}

/// The 16 bytes a client picks for each contact with a linked phone.
public struct ContactNonce: Hashable, Sendable {
    /// The 16 bytes.
    public let bytes: [UInt8]

    /// Takes exactly 16 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        self.bytes = Array(bytes)
    }
}

/// The 64 bytes that seal an advert: an AES-256 key and an HMAC-SHA256 key.
public struct EIDKey: Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 64

    let encryption: SymmetricKey
    let authentication: SymmetricKey

    init(key: SymmetricKey) {
        self.encryption = key.part(0..<32)
        self.authentication = key.part(32..<64)
    }

    /// Takes exactly 64 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard let key = SymmetricKey(exactly: Self.length, bytes: bytes) else { return nil }
        self.init(key: key)
    }
}

/// The handshake's 32-byte pre-shared key: the proof of having heard the advert.
public struct PSK: Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 32

    let key: SymmetricKey

    init(key: SymmetricKey) { self.key = key }

    /// Takes exactly 32 bytes; anything else is `nil`.
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

    fileprivate init(randomBytes count: Int, using generator: inout some RandomNumberGenerator) {
        self.init(data: (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}
