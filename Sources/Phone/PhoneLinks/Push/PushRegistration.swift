// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
package import HybridCaBLE
internal import HybridPrimitives

/// A subscription at a push service, through which a relay wakes this device without a connection.
///
/// Each link has its own, so that neither relays nor push servers can learn that two links belong to one device. The
/// end of the subscription ends the link: no other address can be sent to the computer.
package struct PushRegistration: Sendable, SecretMaterial {
    /// The address of a subscription, and the contact ID in which a relay has sealed it.
    package struct Sealed: Hashable, Sendable, SecretMaterial {
        /// The URL of the subscription at the push server.
        let endpoint: String
        /// The contact ID for the computer; at most 300 bytes.
        package let contactID: ContactID
        /// The time at which the relay ceases to accept the contact ID, in seconds since 1970.
        package let expiry: UInt64
    }

    /// The token that names the subscription on the session bus; secret from other programs there.
    let token: PushToken
    /// The bus name of the distributor.
    package let distributor: String
    /// The relay's key, to which the subscription is restricted (RFC 8292 §4.1).
    let relayKey: PushPublicKey
    /// The key with which messages are decrypted (RFC 8291).
    let key: PushReceiverKey
    /// The sealed address; `nil` while it is not known.
    package internal(set) var sealed: Sealed?
    /// True if the subscription has ended, or has another address than the sealed one.
    package internal(set) var isEnded = false

    /// Creates a subscription that is not registered yet.
    init(distributor: String, relayKey: PushPublicKey) {
        (token, key) = (PushToken(), PushReceiverKey())
        (self.distributor, self.relayKey) = (distributor, relayKey)
    }

    /// Creates a subscription from the stored map; `nil` if a member is missing or malformed.
    init?(stored map: CBORMap) {
        guard let token = map[1]?.text.flatMap(PushToken.init),
            let distributor = map[2]?.text, UnifiedPush.isDistributor(distributor),
            let relayKey = map[3]?.bytes.flatMap({ PushPublicKey(bytes: $0) }),
            let key = map[4]?.bytes.flatMap({ PushReceiverKey(bytes: $0) }),
            let isEnded = map[8]?.boolean
        else { return nil }
        (self.token, self.distributor, self.relayKey, self.key) = (token, distributor, relayKey, key)
        self.isEnded = isEnded
        guard map[5] != nil || map[6] != nil || map[7] != nil else { return }
        guard let endpoint = map[5]?.text, endpoint.utf8.count <= PushSubscription.maximumEndpointLength,
            let contactID = map[6]?.bytes.flatMap({ ContactID(bytes: $0) }), contactID.kind == .push,
            case .unsigned(let expiry)? = map[7]
        else { return nil }
        sealed = Sealed(endpoint: endpoint, contactID: contactID, expiry: expiry)
    }

    /// The map for a file: 1 token, 2 distributor, 3 relay's key, 4 receiver key, 5 endpoint, 6 contact ID, 7 expiry,
    /// 8 ended.
    var stored: CBORMap {
        var map: CBORMap = [
            1: .text(token.text),
            2: .text(distributor),
            3: .bytes(relayKey.bytes),
            4: .bytes(key.withUnsafeBytes { Array($0) }),
            8: .boolean(isEnded),
        ]
        if let sealed {
            map[5] = .text(sealed.endpoint)
            map[6] = .bytes(sealed.contactID.bytes)
            map[7] = .unsigned(sealed.expiry)
        }
        return map
    }

    /// Returns true if a relay can wake this device through the subscription.
    package func isUsable(at now: UInt64) -> Bool { !isEnded && sealed.map { now < $0.expiry } ?? false }
}

/// The random token of a registration (UnifiedPush, DBUS_0.3.0, "Resources"), a version 4 UUID.
struct PushToken: Sendable, SecretMaterial {
    /// The 36 characters.
    let text: String

    /// Creates a random token.
    init() {
        var bytes = [UInt8].random(16)
        // RFC 9562 §5.4.
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let hex = Hex.encode(bytes)
        var (groups, rest) = ([Substring](), hex[...])
        for length in [8, 4, 4, 4, 12] {
            groups.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        text = groups.joined(separator: "-")
    }

    /// Creates a token from 36 lower-case hexadecimal digits and hyphens; `nil` for other text.
    init?(_ text: String) {
        guard text.utf8.count == 36, text.utf8.allSatisfy({ "0123456789abcdef-".utf8.contains($0) }) else { return nil }
        self.text = text
    }

    /// Returns true if a text from the bus is this token; the comparison takes constant time.
    func matches(_ other: String) -> Bool { ConstantTime.equal(Array(text.utf8), Array(other.utf8)) }
}

/// A subscription that the next link will use.
///
/// It exists before a code is scanned, because the contact ID is part of the update that follows the handshake at once.
package struct PushReserve: Sendable, SecretMaterial {
    /// The relay that has sealed the address.
    package let domain: TunnelDomain
    /// The subscription.
    package internal(set) var registration: PushRegistration

    /// The largest file in bytes.
    static let maximumSize = 2048
    private static let version = 1

    init(domain: TunnelDomain, registration: PushRegistration) {
        (self.domain, self.registration) = (domain, registration)
    }

    /// Creates a reserve from a file; `nil` if it is damaged or of a later version.
    init?(file bytes: [UInt8]) {
        let limits = CBORLimits(depth: 3, items: 64, bytes: Self.maximumSize)
        guard let map = (try? CBORDecoder.decode(bytes, mode: .strict, limits: limits))?.map, map.count == 3,
            map[0]?.integer == Self.version,
            let domain = map[1]?.integer.flatMap({ UInt16(exactly: $0) }).flatMap({ TunnelDomain(id: $0) }),
            let registration = map[2]?.map.flatMap({ PushRegistration(stored: $0) })
        else { return nil }
        (self.domain, self.registration) = (domain, registration)
    }

    /// The contents of the file, which the caller wipes: 0 version, 1 number of the tunnel domain, 2 subscription.
    var file: [UInt8] {
        let map: CBORMap = [
            0: .integer(Self.version), 1: .unsigned(UInt64(domain.id)), 2: .map(registration.stored),
        ]
        return CBOREncoder.encode(map)
    }
}
