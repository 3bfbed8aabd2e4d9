// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCBOR
internal import HybridPrimitives

/// The members that the codes of sign-ins and of transfers have in common, with the same keys in the CBOR map.
struct CodeMembers: SecretMaterial {
    /// A reason why a map is refused; the text names the key.
    struct Fault: Error {
        let reason: String
    }

    /// Key 0: public key of the device that shows the code; a compressed point of 33 bytes.
    let publicKey: P256.KeyAgreement.PublicKey
    /// Key 1: secret of 16 bytes.
    let secret: SymmetricKey
    /// Key 3: creation time in seconds since 1970; `nil` if absent or malformed.
    let created: UInt64?
    /// Key 6: channels without duplicates; only the WebSocket if absent or malformed.
    let channels: [DataChannelKind]

    init(
        publicKey: P256.KeyAgreement.PublicKey,
        secret: SymmetricKey,
        created: UInt64?,
        channels: [DataChannelKind]
    ) {
        (self.publicKey, self.secret, self.created, self.channels) = (publicKey, secret, created, channels)
    }

    init(_ map: CBORMap) throws(Fault) {
        guard let point = map[0]?.bytes, point.count == 33 else {
            throw Fault(reason: "key 0 is not a compressed point")
        }
        guard let publicKey = try? P256.KeyAgreement.PublicKey(compressedRepresentation: point) else {
            throw Fault(reason: "key 0 is not on the curve")
        }
        self.publicKey = publicKey
        guard let secret = map[1]?.bytes, secret.count == QRSecret.length else {
            throw Fault(reason: "key 1 is not 16 bytes")
        }
        self.secret = SymmetricKey(data: secret)
        // The other end can do without the other keys, so a malformed value counts as absent.
        if case .unsigned(let seconds)? = map[3] { created = seconds } else { created = nil }
        // Drafts before CTAP 2.2 had a Boolean here. Any value other than a usable list means the WebSocket.
        let named = map[6]?.array?.compactMap { $0.integer.flatMap(DataChannelKind.init) } ?? []
        let channels = named.reduce(into: [DataChannelKind]()) { if !$0.contains($1) { $0.append($1) } }
        self.channels = channels.isEmpty ? [.webSocket] : channels
    }

    /// The map with these members.
    var map: CBORMap {
        var map: CBORMap = [
            0: .bytes(Array(publicKey.compressedRepresentation)),
            1: .bytes(secret.withUnsafeBytes { Array($0) }),
        ]
        if let created { map[3] = .unsigned(created) }
        if channels != [.webSocket] { map[6] = .array(channels.map { .integer($0.rawValue) }) }
        return map
    }

    /// Returns the map that a text encodes.
    static func map(encoded bytes: [UInt8]) throws(Fault) -> CBORMap {
        guard let value = try? CBORDecoder.decode(bytes, mode: .strict) else {
            throw Fault(reason: "not canonical CBOR")
        }
        guard let map = value.map else { throw Fault(reason: "not a map") }
        return map
    }

    /// Returns the age of a code in seconds; `nil` if its creation is unknown or in the future.
    static func age(_ created: UInt64?, at now: UInt64) -> UInt64? {
        guard let created, created <= now else { return nil }
        return now - created
    }
}
