// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridNetwork
import NetworkTestSupport
import Testing

@testable import HybridDataChannel

@Suite("Relay responses", .timeLimit(.minutes(5)))
struct AnswerTests {
    @Test("The request has path, host, subprotocol and token")
    func request() async throws {
        let token = try #require(BearerToken("c2VjcmV0.-_~+/==".utf8))
        let (head, routing) = try await ScriptedRelay.run {
            let head = try await $0.answer()
            #expect(try await $0.finish() == 1000)
            return head
        } client: { endpoint in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint, bearerToken: token) { $0.routingID }
        }
        #expect(routing == RoutingID(node: 0x0102, check: 3))
        let lines = head.split(separator: "\r\n").map(String.init)
        let host = try #require(TestCertificates.domain?.host)
        #expect(lines.first == "GET /cable/new/\(TunnelID.test.hex) HTTP/1.1")
        #expect(lines.filter { $0.lowercased().hasPrefix("host:") } == ["Host: \(host)"])
        #expect(
            lines.filter { $0.lowercased().hasPrefix("authorization:") } == ["Authorization: Bearer c2VjcmV0.-_~+/=="]
        )
        #expect(lines.contains("Sec-WebSocket-Protocol: fido.cable"))
        #expect(lines.contains("User-Agent: \(UserAgent.text)"))
        #expect(!head.lowercased().contains("sec-websocket-extensions"))
    }

    @Test("Joining needs neither token nor routing ID")
    func joining() async throws {
        let path = TunnelPath.connect(RoutingID(node: 7, check: 9), .test)
        let (head, routing) = try await ScriptedRelay.run {
            let head = try await $0.answer(routing: nil)
            #expect(try await $0.finish() == 1000)
            return head
        } client: { endpoint in
            try await WebSocketTunnel.withTunnel(path, at: endpoint) { $0.routingID }
        }
        #expect(routing == nil)
        #expect(head.hasPrefix("GET /cable/connect/000709/\(TunnelID.test.hex) HTTP/1.1\r\n"))
        #expect(!head.lowercased().contains("authorization"))
    }

    @Test("Frames in the same write as the response are not lost", arguments: [1, 3])
    func coalesced(count: Int) async throws {
        let frames = (0..<count).flatMap { Wire.frame([UInt8($0), 0xEE]) }
        let (_, messages) = try await ScriptedRelay.run {
            try await $0.answer(then: frames)
            return try await $0.finish()
        } client: { endpoint in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: endpoint) { tunnel in
                var messages: [[UInt8]] = []
                for _ in 0..<count { messages.append(try await tunnel.next()) }
                return messages
            }
        }
        #expect(messages == (0..<count).map { [UInt8($0), 0xEE] })
    }

    /// A 101 response with one fault.
    struct Faulty: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let change: @Sendable (String) -> String

        init(_ name: String, replacing line: String, by other: String) {
            testDescription = name
            change = { answer in
                answer.split(separator: "\r\n", omittingEmptySubsequences: false)
                    .map { $0.hasPrefix(line) ? other : String($0) }
                    .filter { $0 != "(none)" }.joined(separator: "\r\n")
            }
        }
    }

    static let protocolLine = "Sec-WebSocket-Protocol: fido.cable"
    static let faulty: [Faulty] = [
        Faulty("no sub-protocol", replacing: protocolLine, by: "(none)"),
        Faulty("another sub-protocol", replacing: protocolLine, by: "Sec-WebSocket-Protocol: chat"),
        Faulty("two sub-protocols", replacing: protocolLine, by: "\(protocolLine)\r\n\(protocolLine)"),
        Faulty("a list of sub-protocols", replacing: protocolLine, by: "\(protocolLine), chat"),
        Faulty("the sub-protocol in capitals", replacing: protocolLine, by: "Sec-WebSocket-Protocol: FIDO.CABLE"),
        Faulty(
            "an extension",
            replacing: protocolLine,
            by: "\(protocolLine)\r\nSec-WebSocket-Extensions: permessage-deflate"
        ),
        Faulty("no routing ID", replacing: "X-caBLE", by: "(none)"),
        Faulty("two routing IDs", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: 010203\r\nX-caBLE-Routing-ID: 010203"),
        Faulty("a routing ID of 5 digits", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: 01020"),
        Faulty("a routing ID of 8 digits", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: 01020304"),
        Faulty("a routing ID with a letter", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: 01020g"),
        Faulty("an empty routing ID", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: "),
        Faulty(
            "the wrong accept value",
            replacing: "Sec-WebSocket-Accept",
            by: "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA="
        ),
        Faulty("no accept value", replacing: "Sec-WebSocket-Accept", by: "(none)"),
        // NIO would accept it as an upgrade and continue with HTTP.
        Faulty("no connection field", replacing: "Connection:", by: "(none)"),
        Faulty("no upgrade field", replacing: "Upgrade:", by: "(none)"),
        Faulty("an upgrade to something else", replacing: "Upgrade:", by: "Upgrade: h2c"),
    ]

    @Test("A faulty response ends the connection", arguments: faulty)
    func faultyResponse(_ faulty: Faulty) async throws {
        let (rest, refusal) = try await ScriptedRelay.run {
            try await $0.answer(faulty.change)
            return await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        #expect(refusal?.isMisbehavior == true, "\(String(describing: refusal))")
        #expect(rest == [])
    }

    @Test(
        "Statuses are distinguished",
        arguments: [
            (404, TunnelError.tunnelNotFound), (401, .network(.notAuthorized)), (403, .network(.refused(status: 403))),
            (503, .network(.relayBusy)),
            (429, .network(.relayBusy)), (500, .network(.refused(status: 500))), (304, .network(.refused(status: 304))),
            (200, .network(.refused(status: 200))),
            (410, .network(.refused(status: 410))), (426, .network(.refused(status: 426))),
        ]
    )
    func statuses(status: Int, expected: TunnelError) async throws {
        for body in ["", "gone"] {
            let (_, refusal) = try await ScriptedRelay.run { peer in
                _ = try await peer.readHead()
                let fields = "Location: https://evil.example/\r\nContent-Length: \(body.utf8.count)"
                try await peer.send(Array("HTTP/1.1 \(status) Text\r\n\(fields)\r\n\r\n\(body)".utf8))
                await peer.readToEnd()
            } client: {
                await Client.refusal(at: $0)
            }
            #expect(refusal == expected)
        }
    }

    @Test(
        "Other protocols are recognized",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "\0\0\u{12}\u{4}\0\0\0\0\0", "HTTP/1.1 abc\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno field\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        ]
    )
    func notHTTP(answer: String) async throws {
        let (_, refusal) = try await ScriptedRelay.run {
            _ = try await $0.readHead()
            try await $0.send(Array(answer.utf8))
            await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        #expect(refusal == .relayMisbehaved("it does not speak HTTP"))
    }

    @Test(
        "A relay that closes without a complete response is reported",
        arguments: ["", "HTTP/1.1 101 Switch"]
    )
    func closes(after bytes: String) async throws {
        let (_, refusal) = try await ScriptedRelay.run {
            _ = try await $0.readHead()
            try await $0.send(Array(bytes.utf8))
        } client: {
            await Client.refusal(at: $0)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .network(.disconnected(host: host, .upgrading)))
    }
}
