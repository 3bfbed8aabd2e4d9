// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridPrimitives

/// The content of a message that a relay sends to a phone through a push server.
///
/// It is a map in canonical CBOR whose key 0 is the message's name. Only the phone can decrypt it
/// (``PushReceiverKey``). Any sender that knows the subscription can encrypt one, so the content is not authentic.
public enum PushMessage: Hashable, Sendable {
    /// A nonce that the phone returns to the relay with ``ListenMessage/proof(_:)``.
    case proof(PushNonce)
    /// A client waits in this tunnel for the given number of seconds (0 to 600).
    case wake(RoutingID, TunnelID, ClientPayload, seconds: Int)

    /// Maximum length in bytes.
    public static let maximumLength = PushEncryption.paddedLength

    /// Creates a message from canonical CBOR.
    ///
    /// - Throws: ``ListenMessage/ParseError``.
    public init(parsing bytes: some Collection<UInt8>) throws(ListenMessage.ParseError) {
        let limits = CBORLimits(depth: 2, items: 16, bytes: Self.maximumLength)
        guard bytes.count <= Self.maximumLength,
            let map = (try? CBORDecoder.decode(bytes, mode: .strict, limits: limits))?.map
        else { throw .notAMap }
        let message: Self?
        let members: Int
        switch map[0]?.text {
        case "proof": (message, members) = (map[1]?.bytes.flatMap { PushNonce(bytes: $0) }.map { .proof($0) }, 1)
        case "wake": (message, members) = (Self.wake(map), 4)
        default: throw .unknownName
        }
        guard let message, map.count == 1 + members else { throw .malformedMember }
        self = message
    }

    /// The canonical CBOR.
    public var encoded: [UInt8] {
        let map: CBORMap =
            switch self {
            case .proof(let nonce): [0: "proof", 1: .bytes(nonce.bytes)]
            case .wake(let routing, let tunnel, let payload, let seconds):
                [
                    0: "wake", 1: .bytes(routing.bytes), 2: .bytes(tunnel.bytes), 3: .bytes(payload.bytes),
                    4: .integer(seconds),
                ]
            }
        return CBOREncoder.encode(map)
    }

    private static func wake(_ map: CBORMap) -> Self? {
        guard let routing = map[1]?.bytes.flatMap({ RoutingID(bytes: $0) }),
            let tunnel = map[2]?.bytes.flatMap({ TunnelID(bytes: $0) }),
            let payload = map[3]?.bytes.flatMap({ ClientPayload(bytes: $0) }),
            let seconds = map[4]?.integer, (0...600).contains(seconds)
        else { return nil }
        return .wake(routing, tunnel, payload, seconds: seconds)
    }
}
