// SPDX-License-Identifier: Apache-2.0

/// The path of a WebSocket request to a relay.
public enum TunnelPath: Hashable, Sendable {
    /// The path for an authenticator that opens a tunnel: `/cable/new/{tunnel ID}`.
    case new(TunnelID)
    /// The path for a client that joins a tunnel: `/cable/connect/{routing ID}/{tunnel ID}`.
    case connect(RoutingID, TunnelID)
    /// The path for a client that contacts a linked phone: `/cable/contact/{contact ID in base64url}`.
    case contact(ContactID)
    /// The path for a phone that waits for wake-ups: `/cable/listen/{contact ID in base64url}`, served by this
    /// project's relay only.
    case listen(ContactID)

    /// The path, with lower-case hexadecimal digits.
    public var text: String {
        switch self {
        case .new(let tunnel): "/cable/new/\(tunnel.hex)"
        case .connect(let routing, let tunnel): "/cable/connect/\(routing.hex)/\(tunnel.hex)"
        case .contact(let contact): "/cable/contact/\(contact.base64URL)"
        case .listen(let contact): "/cable/listen/\(contact.base64URL)"
        }
    }

    /// A reason why a path is not a tunnel path.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The path is not one that relays serve.
        public static let unknownPath = ParseError("unknownPath")
        /// An ID has the wrong length, or contains characters other than hexadecimal digits or base64url.
        public static let malformedID = ParseError("malformedID")

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
        } else {
            self = try Self.linked(rest)
        }
    }

    /// Returns the path of a contact or listener; the ASCII text begins behind `/cable/`.
    ///
    /// The method is separate because most requests do not need it.
    private static func linked(_ rest: ArraySlice<UInt8>) throws(ParseError) -> Self {
        if let id = rest.without(prefix: "contact/") { return .contact(try contactID(id)) }
        if let id = rest.without(prefix: "listen/") { return .listen(try contactID(id)) }
        throw .unknownPath
    }

    private static func contactID(_ id: ArraySlice<UInt8>) throws(ParseError) -> ContactID {
        guard !id.contains(UInt8(ascii: "/")) else { throw .unknownPath }
        // Bytes that are not UTF-8 become a character that is not in the alphabet.
        guard let contact = ContactID(base64URL: String(decoding: id, as: UTF8.self)) else { throw .malformedID }
        return contact
    }

    /// WebSocket subprotocol that both ends must request and the relay must confirm.
    public static let subprotocol = "fido.cable"

    /// Response header with the routing ID for the authenticator.
    public static let routingIDHeader = "X-caBLE-Routing-ID"

    /// Request header with the ``ClientPayload`` of a contact in hexadecimal digits.
    public static let clientPayloadHeader = "X-caBLE-Client-Payload"

    /// Header with which a client asks, and a relay confirms, that the byte `00` signals the phone's arrival.
    public static let signalConnectionHeader = "X-caBLE-Signal-Connection"

    /// Request header with which a load balancer asks for an answer at once if the phone does not listen at this node.
    ///
    /// The answer is then 504. The value, 1 or 2, is the number of such answers to the same contact.
    public static let peekHeader = "X-Hybrid-Peek"

    /// Response header with the ``ContactPublicKey`` of a revoked contact ID in base64url.
    public static let contactKeyHeader = "X-Hybrid-Contact-Key"

    /// Response header with the ``ContactSignature`` that revokes a contact ID, in base64url.
    public static let contactGoneHeader = "X-Hybrid-Contact-Gone"
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
