// SPDX-License-Identifier: Apache-2.0

/// All checks in the order in which they are made; `docs/relay-check.md` gives the reasons for them.
///
/// Users' scripts rely on the raw values, so values may be added but never changed.
package enum CheckID: String, CaseIterable, Sendable {
    case tlsCertificate = "tls-certificate"
    case tlsVersion = "tls-version"
    case newUpgrade = "new-upgrade"
    case newAccept = "new-accept"
    case newSubprotocol = "new-subprotocol"
    case newRoutingID = "new-routing-id"
    case join = "join"
    case secondJoin = "second-join"
    case messagesSmall = "messages-small"
    case messages16K = "messages-16k"
    case messagesOrder = "messages-order"
    case messagesLarge = "messages-large"
    case ping = "ping"
    case roundTrip = "round-trip"
    case closeFromClient = "close-from-client"
    case earlyMessages = "early-messages"
    case closeFromPhone = "close-from-phone"
    case cutByClient = "cut-by-client"
    case cutByPhone = "cut-by-phone"
    case uppercaseIDs = "uppercase-ids"
    case origin = "origin"
    case unknownTunnel = "unknown-tunnel"
    case malformedID = "malformed-id"
    case noSubprotocol = "no-subprotocol"
    case unknownPath = "unknown-path"
    case contactNotGone = "contact-not-gone"
    case wrongRoutingID = "wrong-routing-id"
    case malformedIDStatus = "malformed-id-status"
    case noUpgrade = "no-upgrade"
    case notGet = "not-get"
    case noDeflate = "no-deflate"
    case tunnelTwice = "tunnel-twice"
    case textMessage = "text-message"
    case unmaskedFrame = "unmasked-frame"
    case oversizedMessage = "oversized-message"
    case slowHead = "slow-head"
    case token = "token"
    case listenProof = "listen-proof"
    case listenBadProof = "listen-bad-proof"
    case listenOtherKey = "listen-other-key"
    case listenOtherHost = "listen-other-host"
    case listenReplaced = "listen-replaced"
    case contactWake = "contact-wake"
    case contactHeld = "contact-held"
    case contactDeclined = "contact-declined"
    case contactRevoked = "contact-revoked"
    case contactLimit = "contact-limit"
    case contactNoPhone = "contact-no-phone"

    /// The importance of the check.
    package var level: CheckLevel {
        switch self {
        case .roundTrip, .wrongRoutingID, .malformedIDStatus, .noUpgrade, .notGet, .noDeflate, .tunnelTwice,
            .textMessage, .unmaskedFrame, .oversizedMessage, .slowHead, .token,
            .listenReplaced, .contactHeld, .contactDeclined, .contactLimit:
            .advisory
        default: .required
        }
    }

    /// The expected behavior in a few words.
    package var expected: String {
        switch self {
        case .tlsCertificate: "a trusted certificate for the host"
        case .tlsVersion: "TLS 1.2 or newer"
        case .newUpgrade: "/cable/new gets 101 with Upgrade: websocket and Connection: upgrade"
        case .newAccept: "Sec-WebSocket-Accept belongs to the key that was sent"
        case .newSubprotocol: "Sec-WebSocket-Protocol: fido.cable, once"
        case .newRoutingID: "X-caBLE-Routing-ID, once, 6 hexadecimal digits"
        case .join: "/cable/connect with the right IDs is handled like any WebSocket, with fido.cable"
        case .secondJoin: "a second client gets 404"
        case .messagesSmall: "messages of 1 to 1000 bytes pass unchanged, as binary, both ways"
        case .messages16K: "messages of 16 KiB pass unchanged both ways"
        case .messagesOrder: "twenty messages at once arrive whole and in order, both ways"
        case .messagesLarge: "messages of one byte less than 1 MiB pass unchanged both ways"
        case .ping: "a ping gets a pong with the same bytes"
        case .roundTrip: "no message is delayed by about 40 ms (TCP_NODELAY)"
        case .closeFromClient: "the phone receives the client's close code 1000"
        case .earlyMessages: "ten messages sent before the client joins reach it"
        case .closeFromPhone: "the client receives the phone's close code 1000"
        case .cutByClient: "the phone's end is closed when the client's TCP connection breaks"
        case .cutByPhone: "the client's end is closed when the phone's TCP connection breaks"
        case .uppercaseIDs: "IDs in upper case mean the same as in lower case"
        case .origin: "a request with the relay's own Origin is accepted"
        case .unknownTunnel: "joining a tunnel that does not exist gets 404"
        case .malformedID: "malformed IDs are rejected with a 4xx"
        case .noSubprotocol: "a request that does not offer fido.cable gets 400"
        case .unknownPath: "another path gets 404"
        case .contactNotGone: "/cable/contact does not get 410, on which clients forget a linked phone"
        case .wrongRoutingID: "joining with another routing ID gets 404"
        case .malformedIDStatus: "malformed IDs are rejected with 400"
        case .noUpgrade: "a request without an upgrade gets 426"
        case .notGet: "a POST gets 405"
        case .noDeflate: "permessage-deflate is not accepted"
        case .tunnelTwice: "a phone that reconnects with the same tunnel ID is served"
        case .textMessage: "a text message gets close code 1003"
        case .unmaskedFrame: "an unmasked frame gets close code 1002"
        case .oversizedMessage: "a message over 1 MiB gets close code 1009"
        case .slowHead: "half a request line times out"
        case .token: "/cable/new without a token gets 401"
        case .listenProof: "a phone that proves its contact ID on /cable/listen is accepted"
        case .listenBadProof: "a signature over another challenge is refused"
        case .listenOtherKey: "a key that the contact ID does not belong to is refused"
        case .listenOtherHost: "a signature for another relay is refused"
        case .listenReplaced: "a phone's newer connection replaces the older one"
        case .contactWake: "/cable/contact wakes the phone with the client's payload, and messages pass both ways"
        case .contactHeld: "a contact waits for a phone that is about to connect"
        case .contactDeclined: "a contact that the phone declines is closed with code 1013"
        case .contactRevoked: "a contact ID that its phone has revoked gets 410 with the phone's signature"
        case .contactLimit: "too many wake-ups of one phone get 429"
        case .contactNoPhone: "a contact whose phone is not connected gets 404, not 410"
        }
    }
}

/// The importance of a check.
package enum CheckLevel: String, Sendable {
    /// If the behavior differs, ceremonies fail, or clients lose data such as a linked phone.
    case required
    /// A matter of conformance, robustness or speed.
    case advisory
}
