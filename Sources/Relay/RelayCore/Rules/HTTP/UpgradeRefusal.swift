// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives

/// The reason for refusing a request, with the HTTP response.
public struct UpgradeRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int
    /// The reason's name in logs.
    public let description: String
    /// The body of the response: one line without a line end.
    let sentence: String
    /// Header fields that the status requires, without the last line end.
    private var fields: [String]

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
    /// `Host`, or the host in the target, is missing or is not a host with an optional port.
    public static let missingHost = Self("missingHost", 400, "Host must be HOST or HOST:PORT")
    /// A field that may occur only once is repeated.
    public static let duplicateField = Self("duplicateField", 400, "repeated header field")
    /// The request has a body.
    public static let bodyNotAllowed = Self("bodyNotAllowed", 400, "the request must not have a body")
    /// The path is not one that the relay serves.
    public static let notOurPath = Self("notOurPath", 404, "not found")
    /// The path is `/cable/contact/…` or `/cable/listen/…`, and the relay has no contact host.
    public static let contactNotOffered = Self("contactNotOffered", 404, "linked phones are not offered here")
    /// The contact ID is not one of a phone that listens at a relay of this kind.
    public static let foreignContact = Self("foreignContact", 404, "not a contact ID of this relay")
    /// The phone does not listen.
    ///
    /// The status is not 410, because clients would then forget their linked phone.
    public static let contactUnreachable = Self("contactUnreachable", 404, "the phone is not connected")
    /// The phone does not listen at this node, and a load balancer may try another one.
    ///
    /// HAProxy 2.6 can repeat a request for few statuses, and this is the only one that nothing else causes.
    public static let listenerElsewhere = Self("listenerElsewhere", 504, "the phone does not listen at this node")
    /// The push server does not know the phone's subscription any more.
    ///
    /// The response has no proof of the phone, so clients decide whether they believe it.
    static let pushGone = Self("pushGone", 410, "the push server no longer knows the phone")
    /// The push server refused the message for the phone.
    static let pushRefused = Self("pushRefused", 404, "the push server refused the message")
    /// The push server could not be reached, is overloaded, or its limit is reached.
    ///
    /// The status is not 503, because load balancers would then try other relays, each of which sends a message.
    static let pushUnavailable = Self("pushUnavailable", 502, "the push server is busy", fields: "Retry-After: 10")
    /// The contact ID has been requested too often recently.
    ///
    /// A wake-up becomes available again after its share of a minute.
    public static let tooManyWakeUps = Self("tooManyWakeUps", 429, "too many wake-ups", fields: "Retry-After: 10")
    /// `X-caBLE-Client-Payload` is missing, or is not 1 to 256 bytes in hexadecimal digits.
    public static let malformedPayload = Self("malformedPayload", 400, "malformed X-caBLE-Client-Payload")
    /// An ID has the wrong length, or contains characters other than hexadecimal digits or base64url.
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
    /// The subprotocol for phones that listen is not offered.
    public static let missingListenProtocol = Self(
        "missingListenProtocol",
        400,
        "the subprotocol \(ListenMessage.subprotocol) is required"
    )
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
    /// The relay has reached its limit on tunnels, on phones that listen, or on requests for phones that do not.
    public static let full = Self("full", 503, "the relay is full")
    /// Too many phones have begun to listen recently, as after a restart of the relay.
    public static let tooManyListeners = Self("tooManyListeners", 503, "too many at once", fields: "Retry-After: 10")

    /// Creates the refusal of a client whose wake-up a push server did not accept; `nil` if it did.
    init?(_ outcome: PushOutcome) {
        switch outcome {
        case .accepted: return nil
        case .gone: self = .pushGone
        case .refused, .notPermitted: self = .pushRefused
        case .failed, .limited: self = .pushUnavailable
        case .canceled: self = .draining
        }
    }

    /// Creates the refusal of a request for a revoked contact ID, with the phone's proof.
    ///
    /// Only a revocation that the phone signed causes status 410, because clients then forget their linked phone.
    static func contactGone(_ revocation: Revocation) -> Self {
        var refusal = Self("contactGone", 410, "the phone has removed this link")
        refusal.fields = [
            "\(TunnelPath.contactKeyHeader): \(Base64URL.encode(revocation.key.bytes))",
            "\(TunnelPath.contactGoneHeader): \(Base64URL.encode(revocation.signature.bytes))",
        ]
        return refusal
    }

    /// The header fields of status 426 (RFC 9110 §15.5.22, RFC 6455 §4.2.2).
    private static let webSocketFields = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"
    private static let challenge = "WWW-Authenticate: Bearer realm=\"hybrid-relay\""

    private static let reasonPhrases = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 410: "Gone", 426: "Upgrade Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout",
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
