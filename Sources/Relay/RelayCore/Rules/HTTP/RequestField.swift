// SPDX-License-Identifier: Apache-2.0

/// A header field that the relay evaluates; all others are ignored.
enum RequestField: Sendable {
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
    case clientPayload
    case signalConnection
    case peek

    /// Creates the field with a name, which must be a token, ignoring case; `nil` for other names.
    init?(name: Span<UInt8>) {
        // The length excludes most names without a comparison.
        switch name.count {
        case 4 where name.equalsIgnoringCase("host"): self = .host
        case 6 where name.equalsIgnoringCase("origin"): self = .origin
        case 7 where name.equalsIgnoringCase("upgrade"): self = .upgrade
        case 10 where name.equalsIgnoringCase("connection"): self = .connection
        case 13 where name.equalsIgnoringCase("authorization"): self = .authorization
        case 13 where name.equalsIgnoringCase("x-hybrid-peek"): self = .peek
        case 14 where name.equalsIgnoringCase("content-length"): self = .contentLength
        case 17 where name.equalsIgnoringCase("sec-websocket-key"): self = .webSocketKey
        case 17 where name.equalsIgnoringCase("transfer-encoding"): self = .transferEncoding
        case 21 where name.equalsIgnoringCase("sec-websocket-version"): self = .webSocketVersion
        case 22 where name.equalsIgnoringCase("sec-websocket-protocol"): self = .webSocketProtocol
        case 22 where name.equalsIgnoringCase("x-cable-client-payload"): self = .clientPayload
        case 25 where name.equalsIgnoringCase("x-cable-signal-connection"): self = .signalConnection
        default: return nil
        }
    }
}
