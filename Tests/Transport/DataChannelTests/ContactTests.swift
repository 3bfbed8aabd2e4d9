// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCaBLE
import HybridNetwork
import HybridPrimitives
import NIOCore
import NetworkTestSupport
import Synchronization
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Contacts with linked phones", .timeLimit(.minutes(5)))
struct ContactTests {
    static let key = ContactKey()
    static var contact: ContactID { key.publicKey.contactID }

    @Test("The request has the contact ID, the payload and the wish to learn of the phone's arrival")
    func request() async throws {
        for (field, expected) in [
            ("X-caBLE-Signal-Connection: true", true), ("x-cable-signal-connection: 1", true), ("", false),
        ] {
            let (head, signals) = try await ScriptedRelay.run {
                let head = try await $0.open(fields: field.isEmpty ? [] : [field])
                #expect(try await $0.finish() == 1000)
                return head
            } client: { endpoint in
                try await Self.contact(at: endpoint) { _, signals in signals }
            }
            #expect(signals == expected)
            let lines = head.split(separator: "\r\n").map(String.init)
            #expect(lines.first == "GET /cable/contact/\(Self.contact.base64URL) HTTP/1.1")
            #expect(lines.contains("Sec-WebSocket-Protocol: fido.cable"))
            #expect(lines.contains("X-caBLE-Client-Payload: a10203"))
            #expect(lines.contains("X-caBLE-Signal-Connection: true"))
            #expect(!head.lowercased().contains("authorization"))
        }
    }

    @Test("The announcement of the phone comes first and is consumed")
    func announced() async throws {
        let (_, message) = try await ScriptedRelay.run { peer in
            try await peer.open(signals: true, then: Wire.frame([0]) + Wire.frame([7, 7]))
            return try await peer.finish()
        } client: { endpoint in
            try await Self.contact(at: endpoint) { tunnel, _ in
                try await tunnel.waitForPhone()
                return try await tunnel.next()
            }
        }
        #expect(message == [7, 7])
    }

    @Test("Without the header there is no announcement, and the first message is the phone's")
    func unannounced() async throws {
        let (_, message) = try await ScriptedRelay.run { peer in
            try await peer.open(then: Wire.frame([0]))
            return try await peer.finish()
        } client: { endpoint in
            try await Self.contact(at: endpoint) { tunnel, _ in
                try await tunnel.waitForPhone()
                return try await tunnel.next()
            }
        }
        #expect(message == [0])
    }

    @Test("Other data before the announcement is an error", arguments: [[], [1], [0, 0], [7, 7, 7]] as [[UInt8]])
    func dataFirst(_ data: [UInt8]) async throws {
        let failure = try await Self.failure(Wire.frame(data) + Wire.frame([0])) { try await $0.waitForPhone() }
        #expect(failure?.isMisbehavior == true, "\(String(describing: failure))")
    }

    @Test("A relay that closes with 1013 before or after the announcement reports that the user declined")
    func declined() async throws {
        for frames in [[], Wire.frame([0])] {
            let failure = try await Self.failure(frames + Wire.closeFrame(1013)) { tunnel in
                try await tunnel.waitForPhone()
                _ = try await tunnel.next()
            }
            #expect(failure == .phoneDeclined)
            #expect(failure?.closeCode == 1013)
        }
        let other = try await Self.failure(Wire.closeFrame(1001)) { try await $0.waitForPhone() }
        #expect(other == .closed(code: 1001))
        // In a tunnel of a QR code, this close code has no such meaning.
        let (_, outcome) = try await ScriptedRelay.run {
            try await $0.answer(then: Wire.closeFrame(1013))
            await $0.readToEnd()
        } client: { endpoint in
            await Client.failure(at: endpoint) { _ = try await $0.next() }
        }
        #expect(outcome == .closed(code: 1013))
    }

    // MARK: Refusals

    @Test(
        "Statuses are distinguished",
        arguments: [
            (404, TunnelError.contactUnreachable), (410, .contactGone(nil)), (429, .contactLimited),
            (503, .network(.relayBusy)),
            (401, .network(.notAuthorized)), (500, .network(.refused(status: 500))),
            (502, .network(.relayBusy)),
        ]
    )
    func statuses(status: Int, expected: TunnelError) async throws {
        let refusal = try await Self.refusal("\(status) Text")
        #expect(refusal == expected)
        #expect(refusal?.isContactGone == (status == 410))
        #expect(refusal?.isServerFault == (status == 429 || status >= 500))
        #expect(refusal?.revocation == nil)
    }

    private static func fields(_ key: ContactPublicKey, _ signature: ContactSignature) -> [String] {
        [
            "X-Hybrid-Contact-Key: \(Base64URL.encode(key.bytes))",
            "X-Hybrid-Contact-Gone: \(Base64URL.encode(signature.bytes))",
        ]
    }

    @Test("A revocation proves that its phone signed it, for this contact ID and this relay")
    func revocation() async throws {
        let host = try #require(TestCertificates.domain?.host)
        let (key, other) = (Self.key, ContactKey())
        let signature = key.sign(.gone(host: host, Self.contact))
        let refusal = try await Self.refusal("410 Gone", Self.fields(key.publicKey, signature))
        #expect(refusal?.isContactGone == true)
        let revocation = try #require(refusal?.revocation)
        #expect(revocation == ContactRevocation(publicKey: key.publicKey, signature: signature))
        #expect(revocation.proves(Self.contact, host: host))
        #expect(!revocation.proves(other.publicKey.contactID, host: host), "for another contact ID")
        #expect(!revocation.proves(Self.contact, host: "cable.ua5v.com"), "for another relay")

        let challenge = try #require(ListenChallenge(bytes: [UInt8](repeating: 9, count: 32)))
        for (publicKey, signature) in [
            (other.publicKey, signature), (other.publicKey, other.sign(.gone(host: host, other.publicKey.contactID))),
            (key.publicKey, other.sign(.gone(host: host, Self.contact))),
            (key.publicKey, key.sign(.gone(host: "cable.ua5v.com", Self.contact))),
            (key.publicKey, key.sign(.listen(host: host, challenge, Self.contact))),
        ] {
            let forged = try await Self.refusal("410 Gone", Self.fields(publicKey, signature))
            #expect(try #require(forged?.revocation).proves(Self.contact, host: host) == false)
        }
    }

    @Test("Malformed fields of a revocation are no revocation")
    func malformedRevocations() async throws {
        let host = try #require(TestCertificates.domain?.host)
        let right = Self.fields(Self.key.publicKey, Self.key.sign(.gone(host: host, Self.contact)))
        let wrong: [[String]] = [
            [right[0]], [right[1]], right + [right[0]], right + [right[1]], [right[0] + "=", right[1]],
            [right[0], right[1] + "=="], [String(right[0].dropLast()), right[1]], [right[0], right[1] + "AAAA"],
            ["X-Hybrid-Contact-Key: ", right[1]], [right[0], "X-Hybrid-Contact-Gone: +/"],
            [right[0] + ", " + right[0].dropFirst("X-Hybrid-Contact-Key: ".count), right[1]],
        ]
        for fields in wrong {
            #expect(try await Self.refusal("410 Gone", fields) == .contactGone(nil), "\(fields)")
        }
        // The fields mean nothing in a response with another status.
        #expect(try await Self.refusal("404 Not Found", right) == .contactUnreachable)
    }

    @Test(
        "The payload is sent again to the target of a redirection, also on another host",
        arguments: ["", "https://other.example"]
    )
    func redirected(origin: String) async throws {
        let ports = Mutex<[Int]>([])
        let (_, (head, _)) = try await ScriptedRelay.run { peer in
            _ = try await peer.readHead()
            try await peer.send(
                Array(
                    "HTTP/1.1 307 Elsewhere\r\nLocation: \(origin)/cable/contact/AQ\r\nContent-Length: 0\r\n\r\n".utf8
                )
            )
            await peer.readToEnd()
        } client: { first in
            try await ScriptedRelay.run(origin.isEmpty ? .relay : .otherHost) { peer in
                let head = try await peer.open()
                _ = try await peer.finish()
                return head
            } client: { second in
                var endpoint = first
                let targets = [first, second].map { $0.target(of: $0.domain.host).port }
                ports.withLock { $0 = targets }
                endpoint.network.lookup = NameLookup { _, _ in
                    [
                        try SocketAddress(
                            ipAddress: "127.0.0.1",
                            port: ports.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                        )
                    ]
                }
                try await Self.contact(at: endpoint) { _, _ in }
            }
        }
        #expect(head.hasPrefix("GET /cable/contact/AQ HTTP/1.1\r\n"))
        #expect(head.contains("X-caBLE-Client-Payload: a10203\r\n"))
        #expect(head.contains("Sec-WebSocket-Protocol: fido.cable\r\n"))
    }

    // MARK: Helpers

    private static func contact<Outcome: Sendable>(
        at endpoint: RelayEndpoint,
        _ body: @Sendable (WebSocketTunnel, Bool) async throws -> Outcome
    ) async throws -> Outcome {
        let payload = try #require(ClientPayload(hex: "A10203"))
        return try await WebSocketTunnel.withContact(contact, payload: payload, at: endpoint, body)
    }

    /// Returns the error of a contact after these frames of a relay that announces the phone.
    private static func failure(
        _ frames: [UInt8],
        _ body: @escaping @Sendable (WebSocketTunnel) async throws -> Void
    ) async throws -> TunnelError? {
        try await ScriptedRelay.run { peer in
            try await peer.open(signals: true, then: frames)
            await peer.closeWhenAsked()
        } client: { endpoint in
            do {
                try await contact(at: endpoint) { tunnel, _ in try await body(tunnel) }
                return nil
            } catch {
                return error as? TunnelError
            }
        }.outcome
    }

    /// Returns the error of a contact that the relay refuses with this status and these fields.
    private static func refusal(_ status: String, _ fields: [String] = []) async throws -> TunnelError? {
        try await ScriptedRelay.run { peer in
            _ = try await peer.readHead()
            let lines = ["HTTP/1.1 \(status)", "Content-Length: 0"] + fields
            try await peer.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
            await peer.readToEnd()
        } client: { endpoint in
            do {
                try await contact(at: endpoint) { _, _ in _ = Issue.record("it opened") }
                return nil
            } catch {
                return error as? TunnelError
            }
        }.outcome
    }
}

extension Peer {
    /// Reads messages until the client closes, and completes the closing handshake.
    func closeWhenAsked() async {
        while let frame = try? await readFrame() {
            guard frame.opcode == Wire.close else { continue }
            try? await send(Wire.closeFrame(frame.closeCode))
        }
    }

    /// Accepts a request as RFC 6455 §4.2.2 says, independently of the relay's code; returns the request.
    @discardableResult
    func open(
        _ subprotocol: String = "fido.cable",
        signals: Bool = false,
        fields: [String] = [],
        then bytes: [UInt8] = []
    ) async throws -> String {
        let head = String(decoding: try await readHead(), as: UTF8.self)
        let field = try #require(
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }
        )
        let key = field.drop { $0 != ":" }.dropFirst().drop { $0 == " " }
        let hash = Insecure.SHA1.hash(data: Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
        let lines =
            [
                "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Accept: \(String(decoding: Base64.encode(Array(hash)), as: UTF8.self))",
                "Sec-WebSocket-Protocol: \(subprotocol)",
            ] + (signals ? ["X-caBLE-Signal-Connection: true"] : []) + fields
        try await send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + bytes)
        return head
    }
}
