// SPDX-License-Identifier: Apache-2.0

/// What an end asks a relay for, as the path of its WebSocket request.
public enum TunnelPath: Hashable, Sendable {
    /// The phone opens a tunnel: `/cable/new/{tunnel ID}`.
    case new(TunnelID)
    /// The client joins it: `/cable/connect/{routing ID}/{tunnel ID}`.
    case connect(RoutingID, TunnelID)

    /// The path with lower-case hexadecimal digits.
    public var text: String {
        switch self {
        case .new(let tunnel): "/cable/new/\(tunnel.hex)"
        case .connect(let routing, let tunnel): "/cable/connect/\(routing.hex)/\(tunnel.hex)"
        }
    }

    /// Why a path is not a tunnel's.
    public enum ParseError: Error, Equatable, Sendable {
        /// Not one of the paths a relay serves.
        case unknownPath
        /// A tunnel path with an ID of a wrong length or with other characters than hexadecimal digits.
        case malformedID
        /// `/cable/contact/…`: state-assisted contact, which this relay does not offer.
        case contactNotOffered
    }

    /// Reads the path of a request; digits of either case, no query, no trailing slash.
    public init(parsing path: some StringProtocol) throws(ParseError) {
        try self.init(parsing: Array(path.utf8)[...])
    }

    /// Reads the path of a request as it was sent, bytes of ASCII.
    ///
    /// By bytes: a slash with a combining mark behind it is another character than a slash.
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

    /// The WebSocket sub-protocol that both ends must ask for and the relay must echo.
    public static let subprotocol = "fido.cable"

    /// The response header that gives the phone its routing ID.
    public static let routingIDHeader = "X-caBLE-Routing-ID"
}

extension ArraySlice<UInt8> {
    /// What stands behind a prefix of ASCII; `nil` if these bytes begin otherwise.
    fileprivate func without(prefix: StaticString) -> ArraySlice<UInt8>? {
        let length = prefix.utf8CodeUnitCount
        guard count >= length else { return nil }
        for offset in 0..<length where self[startIndex + offset] != prefix.utf8Start[offset] { return nil }
        return dropFirst(length)
    }
}
