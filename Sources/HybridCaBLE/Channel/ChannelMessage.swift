// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// A CTAP command with its parameters, or a status with a response, as bytes.
public struct CTAPPayload: Hashable, Sendable {
    /// Command or status byte, then CBOR.
    public let bytes: [UInt8]

    /// Takes the bytes as they are.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}

/// A JSON text of a digital credential request or response.
public struct JSONPayload: Hashable, Sendable {
    /// UTF-8.
    public let bytes: [UInt8]

    /// Takes the bytes as they are.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}

/// Every message after the first: a type byte and a body.
public enum ChannelMessage: Sendable {
    /// Type 0, client to phone only: the ceremony is over.
    case shutdown
    /// Type 1: a CTAP request or response.
    case ctap(CTAPPayload)
    /// Type 2: news such as linking information; never a reply.
    case update(LinkingInformation?)
    /// Type 3: digital credentials.
    case json(JSONPayload)

    /// Why a message was refused.
    public enum ParseError: Error, Equatable, Sendable {
        /// No byte at all; the obsolete revision's way to close.
        case empty
        /// A type above 3.
        case unknownType(UInt8)
        /// An update that is not a CBOR map, or whose linking information is not valid.
        case malformedUpdate
    }

    /// Reads a message without padding.
    ///
    /// - Throws: ``ParseError``.
    public init(parsing bytes: [UInt8]) throws(ParseError) {
        guard let type = bytes.first else { throw .empty }
        let body = Array(bytes.dropFirst())
        switch type {
        case 0: self = .shutdown
        case 1: self = .ctap(CTAPPayload(bytes: body))
        case 2:
            guard let map = (try? CBORDecoder.decode(body, mode: .lenient))?.map else { throw .malformedUpdate }
            guard let linking = map[1] else {
                self = .update(nil)
                return
            }
            guard let linkingMap = linking.map, let information = try? LinkingInformation(map: linkingMap) else {
                throw .malformedUpdate
            }
            self = .update(information)
        case 3: self = .json(JSONPayload(bytes: body))
        default: throw .unknownType(type)
        }
    }

    /// The type byte and the body.
    public var encoded: [UInt8] {
        switch self {
        case .shutdown: [0]
        case .ctap(let payload): [1] + payload.bytes
        case .update(let linking):
            [2] + CBOREncoder.encode(linking.map { [1: .map($0.map)] } ?? CBORMap())
        case .json(let payload): [3] + payload.bytes
        }
    }
}
