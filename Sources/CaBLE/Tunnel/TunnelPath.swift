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
        // By bytes: a slash with a combining mark behind it is another character than a slash.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count >= 4, parts[0].isEmpty, parts[1] == "cable" else { throw .unknownPath }
        switch (parts[2], parts.count) {
        case ("new", 4):
            guard let tunnel = TunnelID(hex: parts[3]) else { throw .malformedID }
            self = .new(tunnel)
        case ("connect", 5):
            guard let routing = RoutingID(hex: parts[3]), let tunnel = TunnelID(hex: parts[4]) else {
                throw .malformedID
            }
            self = .connect(routing, tunnel)
        case ("contact", 4):
            throw .contactNotOffered
        default:
            throw .unknownPath
        }
    }

    /// The WebSocket sub-protocol that both ends must ask for and the relay must echo.
    public static let subprotocol = "fido.cable"

    /// The response header that gives the phone its routing ID.
    public static let routingIDHeader = "X-caBLE-Routing-ID"
}
