// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridPrimitives

/// A message between a relay and a phone that waits for wake-ups.
///
/// The relay begins with ``hello(_:pingSeconds:)``. The phone proves its contact ID with ``own(_:_:)``, and the relay
/// confirms with ``ok``. Then the relay sends wake-ups. Each message is a binary WebSocket message in canonical CBOR, a
/// map whose key 0 is the message's name.
///
/// A phone that cannot keep a connection gets a contact ID for its push subscription in the same way: it sends
/// ``seal(_:)``, receives a nonce through the push server, and returns it with ``proof(_:)``. The relay answers with
/// ``sealed(_:expiry:)`` or ``unsealed(_:)``.
public enum ListenMessage: Hashable, Sendable {
    /// From the relay: the challenge to sign, and the interval of its pings (1 to 300 seconds).
    case hello(ListenChallenge, pingSeconds: Int)
    /// From the phone: its key and the signature of ``ContactStatement/listen(host:_:_:)``.
    case own(ContactPublicKey, ContactSignature)
    /// From the relay: wake-ups of the contact ID arrive on this connection from now on.
    case ok
    /// From the relay: a client waits in this tunnel for the given number of seconds (0 to 600).
    case wake(number: UInt32, RoutingID, TunnelID, ClientPayload, seconds: Int)
    /// From the phone: the user declined the wake-up with this number.
    case decline(number: UInt32)
    /// From the phone: the contact ID is revoked; the signature is that of ``ContactStatement/gone(host:_:)``.
    case gone(ContactSignature)

    /// From the phone: a request for the relay's key, with which it subscribes at a push server.
    case vapidRequest
    /// From the relay: the public key of its tokens for push servers (RFC 8292).
    case vapid(PushPublicKey)
    /// From the phone: a request for the contact ID of a push subscription.
    case seal(PushSubscription)
    /// From the phone: the nonce that it received through the push server.
    case proof(PushNonce)
    /// From the relay: the contact ID, and its expiry in seconds since 1970.
    case sealed(ContactID, expiry: Int)
    /// From the relay: there is no contact ID for the subscription.
    case unsealed(UnsealedReason)

    /// WebSocket subprotocol that the phone must request and the relay must confirm.
    public static let subprotocol = "hybrid-relay.listen.v1"

    /// Maximum length of a message in bytes.
    public static let maximumLength = 1024

    /// A reason why a message is rejected.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The message is not a map in canonical CBOR, or it is longer than 1,024 bytes.
        public static let notAMap = ParseError("notAMap")
        /// Key 0 names no message of this version.
        public static let unknownName = ParseError("unknownName")
        /// A member is missing, unknown, or has the wrong type, length or range.
        public static let malformedMember = ParseError("malformedMember")

        /// The error's name.
        public let description: String

        private init(_ description: String) { self.description = description }
    }

    /// Creates a message from canonical CBOR.
    ///
    /// - Throws: ``ParseError``.
    public init(parsing bytes: some Collection<UInt8>) throws(ParseError) {
        let limits = CBORLimits(depth: 2, items: 16, bytes: Self.maximumLength)
        guard bytes.count <= Self.maximumLength,
            let map = (try? CBORDecoder.decode(bytes, mode: .strict, limits: limits))?.map
        else { throw .notAMap }
        guard let name = map[0]?.text else { throw .unknownName }
        let message: Self?
        let members: Int
        switch name {
        case "hello": (message, members) = (Self.hello(map), 2)
        case "own": (message, members) = (Self.own(map), 2)
        case "ok": (message, members) = (.ok, 0)
        case "wake": (message, members) = (Self.wake(map), 5)
        case "decline": (message, members) = (Self.number(map).map { .decline(number: $0) }, 1)
        case "gone": (message, members) = (map[1]?.bytes.flatMap { ContactSignature(bytes: $0) }.map { .gone($0) }, 1)
        case "vapid" where map.count == 1: (message, members) = (.vapidRequest, 0)
        case "vapid": (message, members) = (map[1]?.bytes.flatMap { PushPublicKey(bytes: $0) }.map { .vapid($0) }, 1)
        case "seal": (message, members) = (Self.seal(map), 3)
        case "proof": (message, members) = (map[1]?.bytes.flatMap { PushNonce(bytes: $0) }.map { .proof($0) }, 1)
        case "sealed": (message, members) = (Self.sealed(map), 2)
        case "unsealed":
            let reason = map[1]?.integer.flatMap { UnsealedReason(rawValue: $0) }
            (message, members) = (reason.map { .unsealed($0) }, 1)
        default: throw .unknownName
        }
        guard let message, map.count == 1 + members else { throw .malformedMember }
        self = message
    }

    /// The canonical CBOR.
    public var encoded: [UInt8] {
        let map: CBORMap =
            switch self {
            case .hello(let challenge, let seconds): [0: "hello", 1: .bytes(challenge.bytes), 2: .integer(seconds)]
            case .own(let key, let signature): [0: "own", 1: .bytes(key.bytes), 2: .bytes(signature.bytes)]
            case .ok: [0: "ok"]
            case .wake(let number, let routing, let tunnel, let payload, let seconds):
                [
                    0: "wake", 1: .unsigned(UInt64(number)), 2: .bytes(routing.bytes), 3: .bytes(tunnel.bytes),
                    4: .bytes(payload.bytes), 5: .integer(seconds),
                ]
            case .decline(let number): [0: "decline", 1: .unsigned(UInt64(number))]
            case .gone(let signature): [0: "gone", 1: .bytes(signature.bytes)]
            case .vapidRequest: [0: "vapid"]
            case .vapid(let key): [0: "vapid", 1: .bytes(key.bytes)]
            case .seal(let subscription):
                [
                    0: "seal", 1: .text(subscription.endpoint), 2: .bytes(subscription.publicKey.bytes),
                    3: .bytes(subscription.authenticationSecret),
                ]
            case .proof(let nonce): [0: "proof", 1: .bytes(nonce.bytes)]
            case .sealed(let contact, let expiry): [0: "sealed", 1: .bytes(contact.bytes), 2: .integer(expiry)]
            case .unsealed(let reason): [0: "unsealed", 1: .integer(reason.rawValue)]
            }
        return CBOREncoder.encode(map)
    }

    private static func number(_ map: CBORMap) -> UInt32? { map[1]?.integer.flatMap { UInt32(exactly: $0) } }

    private static func seal(_ map: CBORMap) -> Self? {
        guard let endpoint = map[1]?.text, let key = map[2]?.bytes.flatMap({ PushPublicKey(bytes: $0) }),
            let secret = map[3]?.bytes
        else { return nil }
        return PushSubscription(endpoint: endpoint, publicKey: key, authenticationSecret: secret).map { .seal($0) }
    }

    private static func sealed(_ map: CBORMap) -> Self? {
        guard let bytes = map[1]?.bytes, bytes.count <= ContactID.maximumPushLength,
            let contact = ContactID(bytes: bytes), contact.kind == .push, let expiry = map[2]?.integer, expiry >= 0
        else { return nil }
        return .sealed(contact, expiry: expiry)
    }

    private static func hello(_ map: CBORMap) -> Self? {
        guard let challenge = map[1]?.bytes.flatMap({ ListenChallenge(bytes: $0) }),
            let seconds = map[2]?.number(1...300)
        else { return nil }
        return .hello(challenge, pingSeconds: seconds)
    }

    private static func own(_ map: CBORMap) -> Self? {
        guard let key = map[1]?.bytes.flatMap({ ContactPublicKey(bytes: $0) }),
            let signature = map[2]?.bytes.flatMap({ ContactSignature(bytes: $0) })
        else { return nil }
        return .own(key, signature)
    }

    private static func wake(_ map: CBORMap) -> Self? {
        guard let number = Self.number(map),
            let routing = map[2]?.bytes.flatMap({ RoutingID(bytes: $0) }),
            let tunnel = map[3]?.bytes.flatMap({ TunnelID(bytes: $0) }),
            let payload = map[4]?.bytes.flatMap({ ClientPayload(bytes: $0) }),
            let seconds = map[5]?.number(0...600)
        else { return nil }
        return .wake(number: number, routing, tunnel, payload, seconds: seconds)
    }
}

extension CBORValue {
    fileprivate func number(_ range: ClosedRange<Int>) -> Int? { integer.flatMap { range.contains($0) ? $0 : nil } }
}

/// A reason why a relay issues no contact ID for a push subscription.
public enum UnsealedReason: Int, CaseIterable, Sendable {
    /// The relay does not offer contact IDs for push subscriptions.
    case notOffered = 1
    /// The endpoint is not an https URL of a host that the relay may contact.
    case endpointNotAllowed = 2
    /// The endpoint is too long for a contact ID.
    case endpointTooLong = 3
    /// The push server refused the message, or could not be reached.
    case pushServerRefused = 4
    /// The phone did not return the nonce in time.
    case proofTimedOut = 5
    /// There are too many requests on the connection or for the push server, or another request is pending.
    case rateLimited = 6
}
