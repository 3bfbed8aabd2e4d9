// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
public import HybridPrimitives

/// The plaintext of an advert: a nonce, the routing ID and the tunnel domain.
///
/// The encoding is a zero byte ‖ 10 bytes nonce ‖ 3 bytes routing ID ‖ 2 bytes tunnel domain, little-endian. All 16
/// bytes are the salt of the pre-shared key, so only a device that received the advert can complete the handshake.
public struct EID: Sendable, Equatable, SecretMaterial {
    /// Length of the plaintext in bytes.
    public static let length = 16
    /// Length of the nonce in bytes.
    public static let nonceLength = 10

    /// The kind of ceremony, which determines the origin of the key that encrypts an advert.
    public enum Ceremony: Sendable {
        /// The authenticator scanned a QR code.
        case qr
        /// The client contacts a linked authenticator.
        case linked
    }

    /// The 16 bytes.
    let plaintext: [UInt8]

    private init(plaintext: [UInt8]) { self.plaintext = plaintext }

    /// Creates the plaintext of a new advert from a 10-byte nonce, which must be unique for each tunnel.
    ///
    /// - Returns: `nil` if the nonce has another length.
    public init?(nonce: [UInt8], routingID: RoutingID, domain: TunnelDomain) {
        guard nonce.count == Self.nonceLength else { return nil }
        self.plaintext = [0] + nonce + routingID.bytes + domain.id.littleEndianBytes
    }

    /// Creates the plaintext of a new advert with a random nonce; the generator must be cryptographically secure.
    public init(routingID: RoutingID, domain: TunnelDomain, using generator: inout some RandomNumberGenerator) {
        let nonce = [UInt8].random(Self.nonceLength, using: &generator)
        self.plaintext = [0] + nonce + routingID.bytes + domain.id.littleEndianBytes
    }

    /// Routing ID of the tunnel.
    public var routingID: RoutingID { RoutingID(checked: plaintext[11..<14]) }

    /// Number of the tunnel domain.
    public var domainID: UInt16 { UInt16(plaintext[14]) | UInt16(plaintext[15]) << 8 }

    /// Encrypts and authenticates the plaintext.
    public func sealed(with key: EIDKey) -> Advert {
        var block = plaintext
        do {
            try AES.permute(&block, key: key.encryption)
        } catch {
            preconditionFailure("AES-256 must accept a 16-byte block and a 32-byte key")
        }
        return Advert(checked: block + Self.tag(of: block, key: key))
    }

    /// Decrypts a received advert.
    ///
    /// The tag is compared in constant time. A 32-bit tag matches one in 2³² unrelated adverts by chance, so only the
    /// handshake authenticates the sender. The reserved first byte must be zero. In a QR ceremony, the tunnel domain
    /// must be known. With a linked authenticator, the tunnel is already open, and Chromium fills the domain bytes with
    /// random values.
    ///
    /// - Returns: `nil` if a check fails. Usually the advert is for another key, which is not an error.
    public static func open(_ advert: Advert, with key: EIDKey, for ceremony: Ceremony = .qr) -> EID? {
        let ciphertext = Array(advert.bytes[0..<Self.length])
        guard ConstantTime.equal(Array(advert.bytes[Self.length...]), tag(of: ciphertext, key: key)) else { return nil }
        var block = ciphertext
        guard (try? AES.inversePermute(&block, key: key.encryption)) != nil, block[0] == 0 else { return nil }
        let eid = EID(plaintext: block)
        guard ceremony == .linked || eid.domain != nil else { return nil }
        return eid
    }

    /// Tunnel domain; `nil` if its number is below 256 and not assigned to a known vendor.
    public var domain: TunnelDomain? { TunnelDomain(id: domainID) }

    private static func tag(of ciphertext: [UInt8], key: EIDKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: ciphertext, using: key.authentication).prefix(4))
    }
}
