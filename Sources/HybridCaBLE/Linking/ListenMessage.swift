// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// A message between a relay and a phone that waits for wake-ups.
///
/// The relay begins with ``hello(_:pingSeconds:)``. The phone proves its contact ID with ``own(_:_:)``, and the relay
/// confirms with ``ok``. Then the relay sends wake-ups. Each message is a binary WebSocket message in canonical CBOR, a
/// map whose key 0 is the message's name.
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
            }
        return CBOREncoder.encode(map)
    }

    private static func number(_ map: CBORMap) -> UInt32? { map[1]?.integer.flatMap { UInt32(exactly: $0) } }

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
