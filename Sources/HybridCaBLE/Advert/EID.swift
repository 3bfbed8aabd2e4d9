// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
public import HybridPrimitives

/// What an advert says once decrypted: a nonce, where the tunnel waits, and at which relay.
///
/// 16 bytes: a zero, 10 random bytes, the routing ID (3), the tunnel domain (2, little-endian). All 16 are the
/// salt of the pre-shared key, so whoever did not hear the advert can't start the handshake.
public struct EID: Sendable, Equatable, SecretMaterial {
    /// Length of the plaintext in bytes.
    public static let length = 16
    /// Length of the nonce in bytes.
    public static let nonceLength = 10

    /// How the two ends met.
    public enum Ceremony: Sendable {
        /// The phone scanned a QR.
        case qr
        /// The client knew the phone from before.
        case linked
    }

    /// The 16 bytes.
    let plaintext: [UInt8]

    private init(plaintext: [UInt8]) { self.plaintext = plaintext }

    /// A new advert's content; the nonce must be fresh for each tunnel.
    ///
    /// A nonce of a length other than 10 is `nil`.
    public init?(nonce: [UInt8], routingID: RoutingID, domain: TunnelDomain) {
        guard nonce.count == Self.nonceLength else { return nil }
        self.plaintext =
            [0] + nonce + routingID.bytes
            + [UInt8(truncatingIfNeeded: domain.id), UInt8(domain.id >> 8)]
    }

    /// A new advert's content with a nonce from a generator that must be cryptographically secure.
    public init(
        routingID: RoutingID,
        domain: TunnelDomain,
        using generator: inout some RandomNumberGenerator
    ) {
        let nonce = (0..<Self.nonceLength).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        self.plaintext =
            [0] + nonce + routingID.bytes
            + [UInt8(truncatingIfNeeded: domain.id), UInt8(domain.id >> 8)]
    }

    /// The routing ID of the tunnel.
    public var routingID: RoutingID { RoutingID(plaintext[11..<14]) }

    /// The number of the tunnel domain.
    public var domainID: UInt16 { UInt16(plaintext[14]) | UInt16(plaintext[15]) << 8 }

    /// Seals it into the 20 bytes that go on the air.
    public func sealed(with key: EIDKey) -> Advert {
        var block = plaintext
        do {
            try AES.permute(&block, key: key.encryption)
        } catch {
            preconditionFailure("AES-256 refuses a 16-byte block under a 32-byte key")
        }
        return Advert(ciphertext: block, tag: Self.tag(of: block, key: key))
    }

    /// Opens an advert that was heard; `nil` means *not meant for this key*, which is normal and silent.
    ///
    /// The tag is compared in constant time. A tag of 32 bits is met by chance once in 2³² foreign adverts, so
    /// success proves nothing about the sender: the handshake does. The reserved first byte must be zero. A QR
    /// ceremony also needs a tunnel domain that can be resolved; a linked phone's tunnel is open already, and
    /// Chromium fills those bytes with random ones.
    public static func open(_ advert: Advert, with key: EIDKey, for ceremony: Ceremony = .qr) -> EID? {
        let ciphertext = Array(advert.bytes[0..<Self.length])
        guard ConstantTime.equal(Array(advert.bytes[Self.length...]), tag(of: ciphertext, key: key)) else { return nil }
        var block = ciphertext
        do {
            try AES.inversePermute(&block, key: key.encryption)
        } catch {
            return nil
        }
        guard block[0] == 0 else { return nil }
        let eid = EID(plaintext: block)
        guard ceremony == .linked || eid.domain != nil else { return nil }
        return eid
    }

    /// The relay the advert names, if its number is hashed or assigned to a vendor this client knows.
    public var domain: TunnelDomain? { TunnelDomain(id: domainID) }

    private static func tag(of ciphertext: [UInt8], key: EIDKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: ciphertext, using: key.authentication).prefix(4))
    }
}

extension Advert {
    fileprivate init(ciphertext: [UInt8], tag: [UInt8]) { self.init(sealed: ciphertext + tag) }
}

extension RoutingID {
    fileprivate init(_ slice: ArraySlice<UInt8>) { self.init(plaintext: Array(slice)) }
}
