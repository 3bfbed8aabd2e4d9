// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Testing

@testable import HybridDataChannel

@Suite("What a relay answers when a tunnel is opened", .timeLimit(.minutes(5)))
struct AnswerTests {
    @Test("asks with the path, the name, the sub-protocol and the token")
    func request() async throws {
        let token = try #require(BearerToken("c2VjcmV0.-_~+/==".utf8))
        let (head, routing) = try await ScriptedRelay.run {
            let head = try await $0.answer()
            #expect(try await $0.finish() == 1000)
            return head
        } client: { location in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: location, bearerToken: token) { $0.routingID }
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
        #expect(!head.lowercased().contains("sec-websocket-extensions"))
    }

    @Test("sends no token where there is none, and needs no routing ID to join")
    func joining() async throws {
        let path = TunnelPath.connect(RoutingID(node: 7, check: 9), .test)
        let (head, routing) = try await ScriptedRelay.run {
            let head = try await $0.answer(routing: nil)
            #expect(try await $0.finish() == 1000)
            return head
        } client: { location in
            try await WebSocketTunnel.withTunnel(path, at: location) { $0.routingID }
        }
        #expect(routing == nil)
        #expect(head.hasPrefix("GET /cable/connect/000709/\(TunnelID.test.hex) HTTP/1.1\r\n"))
        #expect(!head.lowercased().contains("authorization"))
    }

    @Test("loses no frame that comes in one write with the answer", arguments: [1, 3])
    func coalesced(count: Int) async throws {
        let frames = (0..<count).flatMap { Wire.frame([UInt8($0), 0xEE]) }
        let (_, messages) = try await ScriptedRelay.run {
            try await $0.answer(then: frames)
            return try await $0.finish()
        } client: { location in
            try await WebSocketTunnel.withTunnel(Client.tunnel, at: location) { tunnel in
                var messages: [[UInt8]] = []
                for _ in 0..<count { messages.append(try await tunnel.next()) }
                return messages
            }
        }
        #expect(messages == (0..<count).map { [UInt8($0), 0xEE] })
    }

    /// One way to spoil the answer 101.
    struct Spoilt: CustomTestStringConvertible, Sendable {
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
    static let spoilt: [Spoilt] = [
        Spoilt("no sub-protocol", replacing: protocolLine, by: "(none)"),
        Spoilt("another sub-protocol", replacing: protocolLine, by: "Sec-WebSocket-Protocol: chat"),
        Spoilt("two sub-protocols", replacing: protocolLine, by: "\(protocolLine)\r\n\(protocolLine)"),
        Spoilt("a list of sub-protocols", replacing: protocolLine, by: "\(protocolLine), chat"),
        Spoilt("the sub-protocol in capitals", replacing: protocolLine, by: "Sec-WebSocket-Protocol: FIDO.CABLE"),
        Spoilt(
            "an extension",
            replacing: protocolLine,
            by: "\(protocolLine)\r\nSec-WebSocket-Extensions: permessage-deflate"
        ),
        Spoilt("no routing ID", replacing: "X-caBLE", by: "(none)"),
        Spoilt("two routing IDs", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: 010203\r\nX-caBLE-Routing-ID: 010203"),
        Spoilt("a routing ID of 5 digits", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: 01020"),
        Spoilt("a routing ID of 8 digits", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: 01020304"),
        Spoilt("a routing ID with a letter", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: 01020g"),
        Spoilt("an empty routing ID", replacing: "X-caBLE", by: "X-caBLE-Routing-ID: "),
        Spoilt(
            "the wrong accept value",
            replacing: "Sec-WebSocket-Accept",
            by: "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA="
        ),
        Spoilt("no accept value", replacing: "Sec-WebSocket-Accept", by: "(none)"),
        // NIO would take it for an upgrade, and what follows for more HTTP.
        Spoilt("no connection field", replacing: "Connection:", by: "(none)"),
        Spoilt("no upgrade field", replacing: "Upgrade:", by: "(none)"),
        Spoilt("an upgrade to something else", replacing: "Upgrade:", by: "Upgrade: h2c"),
    ]

    @Test("hangs up on a relay that spoils its answer", arguments: spoilt)
    func spoiltAnswer(_ spoilt: Spoilt) async throws {
        let (rest, refusal) = try await ScriptedRelay.run {
            try await $0.answer(spoilt.change)
            return await $0.readToEnd()
        } client: {
            await Client.refusal(at: $0)
        }
        #expect(refusal?.isMisbehaviour == true, "\(String(describing: refusal))")
        #expect(rest == [])
    }

    @Test(
        "tells statuses apart",
        arguments: [
            (404, TunnelError.tunnelNotFound), (401, .notAuthorised), (403, .refused(status: 403)), (503, .relayBusy),
            (429, .relayBusy), (500, .refused(status: 500)), (304, .refused(status: 304)), (200, .refused(status: 200)),
            (410, .refused(status: 410)), (426, .refused(status: 426)),
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
        "knows what is not HTTP",
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
        "reports a relay that hangs up without a word, or in the middle of one",
        arguments: ["", "HTTP/1.1 101 Switch"]
    )
    func hangsUp(said: String) async throws {
        let (_, refusal) = try await ScriptedRelay.run {
            _ = try await $0.readHead()
            try await $0.send(Array(said.utf8))
        } client: {
            await Client.refusal(at: $0)
        }
        let host = try #require(TestCertificates.domain?.host)
        #expect(refusal?.bare == .hungUp(host: host, .upgrading))
    }
}
