// SPDX-License-Identifier: Apache-2.0

/// The reason for refusing a request, with the HTTP response.
public struct UpgradeRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int
    /// The reason's name in logs.
    public let description: String
    /// The body of the response: one line without a line end.
    let sentence: String
    /// Header fields that the status requires, without the last line end.
    private let fields: [String]

    private init(_ name: String, _ status: Int, _ sentence: String, fields: String...) {
        (description, self.status, self.sentence, self.fields) = (name, status, sentence, fields)
    }

    /// The request line is not `METHOD TARGET HTTP/x.y`.
    public static let malformedRequestLine = Self("malformedRequestLine", 400, "malformed request line")
    /// A header field is not `Name: value`, or is folded over lines.
    public static let malformedField = Self("malformedField", 400, "malformed header field")
    /// The head has a control character, such as a bare line feed or carriage return.
    public static let controlCharacter = Self("controlCharacter", 400, "control character in the request head")
    /// The version is not HTTP/1.1.
    public static let unsupportedHTTPVersion = Self("unsupportedHTTPVersion", 400, "HTTP/1.1 is required")
    /// `Host` is missing.
    public static let missingHost = Self("missingHost", 400, "Host is required")
    /// A field that may occur only once is repeated.
    public static let duplicateField = Self("duplicateField", 400, "repeated header field")
    /// The request has a body.
    public static let bodyNotAllowed = Self("bodyNotAllowed", 400, "the request must not have a body")
    /// The path is not one that the relay serves.
    public static let notOurPath = Self("notOurPath", 404, "not found")
    /// The path is `/cable/contact/…`, which this relay does not offer.
    ///
    /// The status is never 410, because clients would then forget their linked phone.
    public static let contactNotOffered = Self("contactNotOffered", 404, "not found")
    /// A tunnel ID or routing ID has the wrong length or contains characters other than hexadecimal digits.
    public static let malformedID = Self("malformedID", 400, "malformed ID")
    /// The method is not GET.
    ///
    /// RFC 9110 §15.5.6 requires the header field.
    public static let methodNotAllowed = Self("methodNotAllowed", 405, "GET is required", fields: "Allow: GET")
    /// `Upgrade: websocket` or `Connection: upgrade` is missing.
    public static let upgradeRequired = Self(
        "upgradeRequired",
        426,
        "a WebSocket upgrade is required",
        fields: webSocketFields
    )
    /// The WebSocket version is not 13.
    public static let unsupportedWebSocketVersion = Self(
        "unsupportedWebSocketVersion",
        426,
        "WebSocket version 13 is required",
        fields: webSocketFields
    )
    /// `Sec-WebSocket-Key` is missing or is not 16 bytes in base64.
    public static let malformedKey = Self("malformedKey", 400, "malformed Sec-WebSocket-Key")
    /// The subprotocol `fido.cable` is not offered.
    public static let missingSubprotocol = Self("missingSubprotocol", 400, "the subprotocol fido.cable is required")
    /// The request head is longer than the relay accepts.
    public static let headTooLarge = Self("headTooLarge", 431, "request head too large")
    /// The request head did not arrive in time.
    public static let headTimeout = Self("headTimeout", 408, "request head too slow")
    /// `Origin` does not name the host of the request.
    public static let forbiddenOrigin = Self("forbiddenOrigin", 403, "the Origin is not this host")
    /// Opening a tunnel requires a token, and the request has none.
    ///
    /// RFC 9110 §15.5.2 requires the header field.
    public static let tokenMissing = Self("tokenMissing", 401, "a token is required", fields: challenge)
    /// The token is not one of those that may open a tunnel.
    ///
    /// RFC 6750 §3 requires the header field.
    public static let tokenWrong = Self(
        "tokenWrong",
        401,
        "the token is not known",
        fields: challenge + ", error=\"invalid_token\""
    )
    /// The source has opened too many tunnels recently.
    ///
    /// The limit is per minute, so waiting one minute is always enough.
    public static let tooManyRequests = Self("tooManyRequests", 429, "too many new tunnels", fields: "Retry-After: 60")
    /// The tunnel does not exist or already has a client.
    public static let unknownTunnel = Self("unknownTunnel", 404, "no such tunnel")
    /// The relay is shutting down and opens no new tunnels.
    ///
    /// Another relay behind the load balancer, or the restarted one, is available within seconds.
    public static let draining = Self("draining", 503, "the relay is shutting down", fields: "Retry-After: 5")
    /// The relay has reached its limit on tunnels.
    public static let full = Self("full", 503, "the relay is full")

    /// The header fields of status 426 (RFC 9110 §15.5.22, RFC 6455 §4.2.2).
    private static let webSocketFields = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"
    private static let challenge = "WWW-Authenticate: Bearer realm=\"hybrid-relay\""

    private static let reasonPhrases = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 426: "Upgrade Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 503: "Service Unavailable",
    ]

    /// All statuses, so that a metric can show a zero for each.
    static var statuses: some Collection<Int> { reasonPhrases.keys }

    /// The complete response, after which the relay closes the connection.
    public var response: String {
        let body = sentence + "\n"
        let lines =
            ["HTTP/1.1 \(status) \(Self.reasonPhrases[status] ?? "")", "Connection: close"] + fields
            + ["Content-Type: text/plain; charset=utf-8", "Content-Length: \(body.utf8.count)", "", body]
        return lines.joined(separator: "\r\n")
    }
}
