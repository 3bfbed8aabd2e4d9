// SPDX-License-Identifier: Apache-2.0

/// A header field that the relay evaluates.
///
/// All others are ignored.
enum RequestField: CaseIterable, Sendable {
    case host
    case contentLength
    case transferEncoding
    case upgrade
    case connection
    case webSocketVersion
    case webSocketKey
    case webSocketProtocol
    case origin
    case authorization

    /// The lower-case name.
    var name: StaticString {
        switch self {
        case .host: "host"
        case .contentLength: "content-length"
        case .transferEncoding: "transfer-encoding"
        case .upgrade: "upgrade"
        case .connection: "connection"
        case .webSocketVersion: "sec-websocket-version"
        case .webSocketKey: "sec-websocket-key"
        case .webSocketProtocol: "sec-websocket-protocol"
        case .origin: "origin"
        case .authorization: "authorization"
        }
    }

    /// Creates the field of a name, which is a token in any case; `nil` for other names.
    init?(name: Span<UInt8>) {
        let candidate: RequestField?
        switch name.count {
        case 4: candidate = .host
        case 6: candidate = .origin
        case 7: candidate = .upgrade
        case 10: candidate = .connection
        case 13: candidate = .authorization
        case 14: candidate = .contentLength
        case 17: candidate = name[0].asciiLowercase == UInt8(ascii: "t") ? .transferEncoding : .webSocketKey
        case 21: candidate = .webSocketVersion
        case 22: candidate = .webSocketProtocol
        default: candidate = nil
        }
        guard let candidate, name.equalsIgnoringCase(candidate.name) else { return nil }
        self = candidate
    }
}
