// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// A message of the channel, except the first one: a type byte and a body.
public enum ChannelMessage: Sendable {
    /// Type 0, from client to authenticator only: ends the session.
    case shutdown
    /// Type 1: a CTAP request or response, which is a command or status byte followed by CBOR; not validated.
    case ctap([UInt8])
    /// Type 2: an update such as linking information; never a response.
    case update(LinkingInformation?)
    /// Type 3: a request or response for a digital credential, as JSON in UTF-8; not validated.
    case json([UInt8])

    /// Maximum length of a body in bytes, so that the frame with type, padding and tag has at most 1 MiB.
    public static let maximumBodyLength = FramePadding.maximumMessageLength - 1

    /// A reason why a message is rejected.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The message has no bytes.
        ///
        /// An obsolete revision of the protocol closed the channel with such a message.
        public static let empty = ParseError("empty")
        /// An update is not a CBOR map, or its linking information is invalid.
        public static let malformedUpdate = ParseError("malformedUpdate")

        /// The error's name, with the message type in parentheses.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The type is above 3.
        public static func unknownType(_ type: UInt8) -> ParseError { ParseError("unknownType(\(type))") }
    }

    /// Creates a message from decrypted bytes without padding.
    ///
    /// - Throws: ``ParseError``.
    public init(parsing bytes: [UInt8]) throws(ParseError) {
        guard let type = bytes.first else { throw .empty }
        let body = Array(bytes.dropFirst())
        switch type {
        case 0: self = .shutdown
        case 1: self = .ctap(body)
        case 2:
            guard let map = (try? CBORDecoder.decode(body, mode: .lenient))?.map else { throw .malformedUpdate }
            // The session does not need a link, so what is malformed counts as absent.
            self = .update(map[1].flatMap(LinkingInformation.init))
        case 3: self = .json(body)
        default: throw .unknownType(type)
        }
    }

    /// The type byte, followed by the body.
    ///
    /// An update has 512 bytes with the padding of its frame, with or without linking information. A relay cannot tell
    /// from its length if the user agreed to a link. Only foreign linking information can be longer.
    public var encoded: [UInt8] {
        switch self {
        case .shutdown: [0]
        case .ctap(let payload): [1] + payload
        case .update(let linking): Self.padded(linking.map { [1: .map($0.map)] } ?? CBORMap())
        case .json(let payload): [3] + payload
        }
    }
}

extension ChannelMessage {
    /// Length of an update in bytes, without the last byte of the frame's padding.
    private static let updateLength = 511

    /// Returns the number of bytes that an update has left for padding; negative if its members are too long.
    static func room(besides members: CBORMap) -> Int { updateLength - 1 - CBOREncoder.encode(members).count }

    /// Returns an update with zeros in key 0.
    private static func padded(_ members: CBORMap) -> [UInt8] {
        var map = members
        let room = room(besides: members)
        // Key and length of the zeros take 2 to 4 bytes. Not all sums are possible; the frame's padding fills a gap.
        let head = room < 26 ? 2 : room < 259 ? 3 : 4
        if room >= head { map[0] = .bytes([UInt8](repeating: 0, count: room - head)) }
        return [2] + CBOREncoder.encode(map)
    }
}
