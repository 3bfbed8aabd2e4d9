// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOSSL
import Testing

@testable import HybridRelayCore

/// A phone's contact key, and the requests and messages for its contact ID at a test relay.
struct LinkedPhone {
    /// The host of test relays for proofs; requests have another one in `Host`.
    static let host = "relay.test"

    let key = ContactKey()

    var contact: ContactID { key.publicKey.contactID }

    /// Returns the request of the phone's connection.
    func listenRequest(adding: [String] = []) -> [UInt8] {
        UpgradeRequestTests.head(
            [
                "GET": "GET /cable/listen/\(contact.base64URL) HTTP/1.1",
                "Sec-WebSocket-Protocol": "Sec-WebSocket-Protocol: hybrid-relay.listen.v1",
            ],
            adding: adding
        )
    }

    /// Returns the request of a client.
    func contactRequest(
        payload: String? = "A1b2",
        signals: String? = nil,
        adding: [String] = []
    ) -> [UInt8] {
        let fields = [
            payload.map { "x-cable-client-payload: \($0)" },
            signals.map { "X-caBLE-Signal-Connection: \($0)" },
        ]
        return UpgradeRequestTests.head(
            ["GET": "GET /cable/contact/\(contact.base64URL) HTTP/1.1"],
            adding: fields.compactMap(\.self) + adding
        )
    }

    /// Returns the frame that proves the contact ID, or one with another key's signature.
    func proof(of challenge: ListenChallenge, host: String = Self.host, signedBy other: ContactKey? = nil) -> [UInt8] {
        let signature = (other ?? key).sign(.listen(host: host, challenge, contact))
        return Self.frame(.own(key.publicKey, signature))
    }

    /// Returns the frame that revokes the contact ID.
    func revocation(host: String = Self.host) -> [UInt8] { Self.frame(.gone(key.sign(.gone(host: host, contact)))) }

    static func frame(_ message: ListenMessage) -> [UInt8] { Wire.frame(message.encoded) }
}

/// A wake-up that a phone has received.
struct ReceivedWakeUp {
    let number: UInt32
    let routing: String
    let tunnel: String
    let payload: [UInt8]
    let seconds: Int

    init?(_ message: ListenMessage?) {
        guard case .wake(let number, let routing, let tunnel, let payload, let seconds) = message else { return nil }
        (self.number, self.routing, self.tunnel) = (number, routing.hex, tunnel.hex)
        (self.payload, self.seconds) = (payload.bytes, seconds)
    }
}

extension WireEnd {
    /// Returns the next message of a phone's connection if it has arrived; skips pings, which depend on the time.
    func takeListenMessage() throws -> ListenMessage? {
        var next = takeFrame()
        while next?.opcode == Wire.ping { next = takeFrame() }
        guard let frame = next else { return nil }
        try #require(frame.opcode == Wire.binary && frame.final, "\(frame)")
        return try ListenMessage(parsing: frame.payload)
    }

    /// Returns the next message, which must be a wake-up.
    func takeWakeUp() throws -> ReceivedWakeUp {
        try #require(ReceivedWakeUp(try takeListenMessage()), "a wake-up has arrived")
    }
}

extension HandDrivenRelay {
    /// Connects a phone that has not proven its contact ID, and returns it with its challenge.
    func challenged(
        _ phone: LinkedPhone,
        onLoop loop: Int = 0,
        tls: NIOSSLContext? = nil,
        glued: [UInt8] = []
    ) throws -> (end: WireEnd, challenge: ListenChallenge) {
        let end = try connect(onLoop: loop, tls: tls)
        try end.send(phone.listenRequest() + glued)
        try settle()
        let head = try #require(end.takeHead(), "the relay has responded")
        try #require(head.hasPrefix("HTTP/1.1 101 "), "\(head)")
        #expect(head.contains("\r\nSec-WebSocket-Protocol: hybrid-relay.listen.v1\r\n"))
        guard case .hello(let challenge, 25) = try end.takeListenMessage() else {
            Issue.record("the first message is a challenge")
            throw WireEnd.Ended()
        }
        return (end, challenge)
    }

    /// Connects a phone that listens.
    func listener(_ phone: LinkedPhone, onLoop loop: Int = 0, tls: NIOSSLContext? = nil) throws -> WireEnd {
        let (end, challenge) = try challenged(phone, onLoop: loop, tls: tls)
        try end.send(phone.proof(of: challenge))
        try settle()
        #expect(try end.takeListenMessage() == .ok)
        return end
    }

    /// Connects a client that contacts a phone.
    func contact(
        _ phone: LinkedPhone,
        onLoop loop: Int = 0,
        signals: String? = nil,
        glued: [UInt8] = []
    ) throws -> WireEnd {
        let end = try connect(onLoop: loop)
        try end.send(phone.contactRequest(signals: signals) + glued)
        try settle()
        return end
    }

    /// Closes ends and expects that nothing is left.
    func expectEmpty(afterClosing ends: [WireEnd]) throws {
        for end in ends { end.close() }
        try settle()
        #expect(context.registry.counts == (0, 0, 0, 0, 0))
        #expect(connections == 0 && bufferedBytes == 0)
        #expect(loops.allSatisfy { $0.connectionCount == 0 })
    }
}
