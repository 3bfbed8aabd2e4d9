// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import HybridPrimitives

/// The keys with which a relay encrypts push subscriptions into contact IDs.
///
/// A contact ID is `02`, the number of the key, a nonce of 12 bytes, and the encrypted subscription. So the relay needs
/// no memory and no disk for subscriptions. The first key encrypts; older ones still open.
public struct PushContactIDKeys: Sendable, SecretMaterial {
    /// Length of a key in bytes.
    public static let keyLength = 32

    private let encryptingKey: UInt8
    private let keys: [UInt8: SymmetricKey]

    /// Creates keys.
    ///
    /// - Parameter keys: At least one key of 32 bytes, each with its own number; the first one encrypts.
    /// - Returns: `nil` if there is none, or if a length is wrong or a number repeated.
    public init?(_ keys: [(number: UInt8, key: SymmetricKey)]) {
        guard let first = keys.first, keys.allSatisfy({ $0.key.bitCount == 8 * Self.keyLength }),
            Set(keys.map(\.number)).count == keys.count
        else { return nil }
        encryptingKey = first.number
        self.keys = Dictionary(uniqueKeysWithValues: keys.map { ($0.number, $0.key) })
    }

    /// Text before the path in every endpoint, which is not stored.
    private static let scheme = "https://"
    /// Lengths of the expiry, the compressed key and the authentication secret, which precede the endpoint.
    private static let fixedLength = 4 + 33 + PushSubscription.authenticationSecretLength
    /// Lengths of the first two bytes, the nonce and the tag.
    private static let overhead = 2 + 12 + 16

    /// Maximum length of an endpoint in bytes.
    public static let maximumEndpointLength = ContactID.maximumPushLength - overhead - fixedLength + scheme.utf8.count

    /// Encrypts a subscription; `nil` if its endpoint does not begin with `https://`, ends there, or is too long.
    ///
    /// - Parameters:
    ///   - subscription: The subscription, which the phone has proven.
    ///   - host: Host of the relay, for which alone the contact ID is valid.
    ///   - expiry: Expiry in seconds since 1970, before the year 2106.
    public func seal(_ subscription: PushSubscription, host: String, expiry: UInt32) -> ContactID? {
        let length = subscription.endpoint.utf8.count
        guard subscription.endpoint.hasPrefix(Self.scheme), length > Self.scheme.utf8.count,
            length <= Self.maximumEndpointLength, let key = keys[encryptingKey]
        else { return nil }
        var content: [UInt8] = (0..<4).map { UInt8(truncatingIfNeeded: expiry >> (24 - 8 * $0)) }
        content += subscription.publicKey.compressed
        content += subscription.authenticationSecret
        content += subscription.endpoint.utf8.dropFirst(Self.scheme.utf8.count)
        guard
            let box = try? ChaChaPoly.seal(content, using: key, authenticating: Self.context(host, encryptingKey))
        else { return nil }
        return ContactID(bytes: [2, encryptingKey] + box.combined)
    }

    /// Decrypts a contact ID; `nil` if it is malformed, expired, changed, or from a relay with another key or host.
    ///
    /// - Parameters:
    ///   - contact: The contact ID of a client's request.
    ///   - host: Host of the relay.
    ///   - now: The current time in seconds since 1970.
    public func open(_ contact: ContactID, host: String, now: UInt64) -> PushSubscription? {
        let bytes = contact.bytes
        guard contact.kind == .push, bytes.count > Self.overhead + Self.fixedLength,
            bytes.count <= ContactID.maximumPushLength, let key = keys[bytes[1]],
            let box = try? ChaChaPoly.SealedBox(combined: bytes[2...]),
            let content = try? ChaChaPoly.open(box, using: key, authenticating: Self.context(host, bytes[1]))
        else { return nil }
        let opened = Array(content)
        let expiry = opened[..<4].reduce(0) { $0 << 8 | UInt64($1) }
        guard now < expiry, let publicKey = PushPublicKey(compressed: opened[4..<37]) else { return nil }
        return PushSubscription(
            endpoint: Self.scheme + String(decoding: opened[53...], as: UTF8.self),
            publicKey: publicKey,
            authenticationSecret: opened[37..<53]
        )
    }

    /// Bytes that are authenticated with the subscription.
    private static func context(_ host: String, _ number: UInt8) -> [UInt8] {
        Array("hybrid-relay push contact v1".utf8) + host.utf8 + [2, number]
    }
}
