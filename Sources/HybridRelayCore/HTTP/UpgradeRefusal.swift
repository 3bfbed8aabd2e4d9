// SPDX-License-Identifier: Apache-2.0

/// Why a request does not become a tunnel's end, and what the requester is told.
public enum UpgradeRefusal: Error, Hashable, Sendable, CaseIterable {
    /// The request line is not `METHOD TARGET HTTP/x.y`.
    case malformedRequestLine
    /// A header field is not `Name: value`, or is folded over lines.
    case malformedField
    /// A control character where none may be, a bare line feed or carriage return among them.
    case controlCharacter
    /// Not HTTP/1.1.
    case unsupportedHTTPVersion
    /// `Host` is missing.
    case missingHost
    /// A field that may stand once stands twice.
    case duplicateField
    /// The request brings a body.
    case bodyNotAllowed
    /// Not one of the relay's paths.
    case notOurPath
    /// `/cable/contact/…`, which this relay does not offer; never 410, on which clients forget their phone.
    case contactNotOffered
    /// A tunnel or routing ID of a wrong length or with other characters than hexadecimal digits.
    case malformedID
    /// Not a GET.
    case methodNotAllowed
    /// No `Upgrade: websocket` with `Connection: upgrade`.
    case upgradeRequired
    /// Not version 13 of WebSocket.
    case unsupportedWebSocketVersion
    /// `Sec-WebSocket-Key` is missing or is not 16 bytes in base64.
    case malformedKey
    /// The sub-protocol `fido.cable` was not offered.
    case missingSubprotocol
    /// The request head is longer than the relay reads.
    case headTooLarge
    /// The request head did not come in time.
    case headTimeout
    /// An `Origin` does not name the host that the request is for.
    case forbiddenOrigin
    /// A token is needed to open a tunnel, and the request brings none.
    case tokenMissing
    /// The token is none of those that may open a tunnel.
    case tokenWrong
    /// The source opened as many tunnels lately as it may.
    case tooManyRequests
    /// No such tunnel, or its client is there already.
    case unknownTunnel
    /// The relay goes down and takes no new tunnels.
    case draining
    /// The relay carries as many tunnels as it may.
    case full

    /// The HTTP status.
    public var status: Int {
        switch self {
        case .malformedRequestLine, .malformedField, .controlCharacter, .unsupportedHTTPVersion, .missingHost,
            .duplicateField, .bodyNotAllowed, .malformedID, .malformedKey, .missingSubprotocol:
            400
        case .tokenMissing, .tokenWrong: 401
        case .forbiddenOrigin: 403
        case .notOurPath, .contactNotOffered, .unknownTunnel: 404
        case .methodNotAllowed: 405
        case .headTimeout: 408
        case .upgradeRequired, .unsupportedWebSocketVersion: 426
        case .tooManyRequests: 429
        case .headTooLarge: 431
        case .draining, .full: 503
        }
    }

    /// One line for whoever reads the response.
    var sentence: String {
        switch self {
        case .malformedRequestLine: "malformed request line"
        case .malformedField: "malformed header field"
        case .controlCharacter: "control character in the request head"
        case .unsupportedHTTPVersion: "HTTP/1.1 is required"
        case .missingHost: "Host is required"
        case .duplicateField: "repeated header field"
        case .bodyNotAllowed: "the request must not have a body"
        case .notOurPath, .contactNotOffered: "not found"
        case .malformedID: "malformed ID"
        case .methodNotAllowed: "GET is required"
        case .upgradeRequired: "a WebSocket upgrade is required"
        case .unsupportedWebSocketVersion: "WebSocket version 13 is required"
        case .malformedKey: "malformed Sec-WebSocket-Key"
        case .missingSubprotocol: "the sub-protocol fido.cable is required"
        case .headTooLarge: "request head too large"
        case .headTimeout: "request head too slow"
        case .forbiddenOrigin: "the Origin is not this host"
        case .tokenMissing: "a token is required"
        case .tokenWrong: "the token is not known"
        case .tooManyRequests: "too many new tunnels"
        case .unknownTunnel: "no such tunnel"
        case .draining: "the relay is going down"
        case .full: "the relay is full"
        }
    }

    private var reasonPhrase: String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        default: "Service Unavailable"
        }
    }

    /// Fields that the status asks for (RFC 9110 §10.2.3, §15.5.2, §15.5.6, §15.5.22; RFC 6455 §4.2.2; RFC 6750 §3).
    ///
    /// The rate is one a minute, so a minute is always enough. Another relay takes a draining one's place in no time,
    /// behind a balancer, or after a restart.
    private var extraFields: String {
        switch self {
        case .methodNotAllowed: "Allow: GET\r\n"
        case .upgradeRequired, .unsupportedWebSocketVersion:
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        case .tokenMissing: "WWW-Authenticate: Bearer realm=\"hybrid-relay\"\r\n"
        case .tokenWrong: "WWW-Authenticate: Bearer realm=\"hybrid-relay\", error=\"invalid_token\"\r\n"
        case .tooManyRequests: "Retry-After: 60\r\n"
        case .draining: "Retry-After: 5\r\n"
        default: ""
        }
    }

    /// The whole response, after which the relay hangs up.
    public var response: String {
        let body = sentence + "\n"
        return "HTTP/1.1 \(status) \(reasonPhrase)\r\nConnection: close\r\n\(extraFields)"
            + "Content-Type: text/plain; charset=utf-8\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}
