// SPDX-License-Identifier: Apache-2.0

/// The path of a WebSocket request to a relay.
public enum TunnelPath: Hashable, Sendable {
    /// The path for an authenticator that opens a tunnel: `/cable/new/{tunnel ID}`.
    case new(TunnelID)
    /// The path for a client that joins a tunnel: `/cable/connect/{routing ID}/{tunnel ID}`.
    case connect(RoutingID, TunnelID)

    /// The path with lower-case hexadecimal digits.
    public var text: String {
        switch self {
        case .new(let tunnel): "/cable/new/\(tunnel.hex)"
        case .connect(let routing, let tunnel): "/cable/connect/\(routing.hex)/\(tunnel.hex)"
        }
    }

    /// A reason why a path is not a tunnel path.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The path is not one that relays serve.
        public static let unknownPath = ParseError("unknownPath")
        /// An ID has the wrong length or contains characters other than hexadecimal digits.
        public static let malformedID = ParseError("malformedID")
        /// The path is `/cable/contact/…`: state-assisted contact, which this project's relay does not support.
        public static let contactNotOffered = ParseError("contactNotOffered")

        /// The error's name.
        public let description: String

        private init(_ description: String) { self.description = description }
    }

    /// Creates a path from that of a request: digits in either case, no query, no trailing slash.
    public init(parsing path: some StringProtocol) throws(ParseError) {
        try self.init(parsing: Array(path.utf8)[...])
    }

    /// Creates a path from the ASCII path of a request.
    ///
    /// Bytes are compared, because a slash followed by a combining mark is not the `Character` of a slash.
    public init(parsing path: ArraySlice<UInt8>) throws(ParseError) {
        guard let rest = path.without(prefix: "/cable/") else { throw .unknownPath }
        let slash = UInt8(ascii: "/")
        if let id = rest.without(prefix: "new/") {
            guard !id.contains(slash) else { throw .unknownPath }
            guard let tunnel = TunnelID(hexDigits: id) else { throw .malformedID }
            self = .new(tunnel)
        } else if let ids = rest.without(prefix: "connect/") {
            guard let end = ids.firstIndex(of: slash), !ids[(end + 1)...].contains(slash) else { throw .unknownPath }
            guard let routing = RoutingID(hexDigits: ids[..<end]), let tunnel = TunnelID(hexDigits: ids[(end + 1)...])
            else { throw .malformedID }
            self = .connect(routing, tunnel)
        } else if let id = rest.without(prefix: "contact/"), !id.contains(slash) {
            throw .contactNotOffered
        } else {
            throw .unknownPath
        }
    }

    /// WebSocket subprotocol that both ends must request and the relay must confirm.
    public static let subprotocol = "fido.cable"

    /// Response header with the routing ID for the authenticator.
    public static let routingIDHeader = "X-caBLE-Routing-ID"
}

extension ArraySlice<UInt8> {
    /// Returns the bytes after an ASCII prefix; `nil` if the prefix differs.
    fileprivate func without(prefix: StaticString) -> ArraySlice<UInt8>? {
        let length = prefix.utf8CodeUnitCount
        guard count >= length else { return nil }
        for offset in 0..<length where self[startIndex + offset] != prefix.utf8Start[offset] { return nil }
        return dropFirst(length)
    }
}
