// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import TestSupport
import Testing

@testable import HybridRelayCore

@Suite("A request for a tunnel")
struct UpgradeRequestTests {
    static let tunnel = "00112233445566778899aabbccddeeff"

    static let newHead = [
        "GET /cable/new/\(tunnel) HTTP/1.1", "Host: cable.example", "Connection: Upgrade", "Upgrade: websocket",
        "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: fido.cable",
    ]

    /// Returns the head of a phone's request with lines replaced, removed (`nil`) or added.
    static func head(_ changes: [String: String?] = [:], adding: [String] = []) -> [UInt8] {
        var lines: [String] = []
        for line in newHead {
            let name = line.hasPrefix("GET") ? "GET" : String(line.prefix { $0 != ":" })
            if let change = changes[name] {
                if let change { lines.append(change) }
            } else {
                lines.append(line)
            }
        }
        return Array((lines + adding + ["", ""]).joined(separator: "\r\n").utf8)
    }

    /// Returns the head of a client's request for a linked phone.
    private static func contact(_ fields: String..., subprotocol: String? = nil) -> [UInt8] {
        var changes: [String: String?] = ["GET": "GET /cable/contact/AbC_ HTTP/1.1"]
        if let subprotocol { changes["Sec-WebSocket-Protocol"] = subprotocol }
        return head(changes, adding: fields)
    }

    static func refusal(_ head: [UInt8]) -> UpgradeRefusal? {
        do throws(UpgradeRefusal) {
            _ = try UpgradeRequest(parsing: head)
            return nil
        } catch {
            return error
        }
    }

    @Test("is accepted from a phone, and the response has its routing ID")
    func phone() throws {
        let request = try UpgradeRequest(parsing: Self.head())
        let tunnel = try #require(TunnelID(hex: Self.tunnel))
        #expect(request.path == .new(tunnel))
        // Key and answer are the example of RFC 6455 §1.3.
        let expected =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: fido.cable\r\n"
        let routing = RoutingID(node: 0x0102, check: 0xFF)
        #expect(request.response(routing: routing) == Array((expected + "X-caBLE-Routing-ID: 0102ff\r\n\r\n").utf8))
        #expect(request.response(routing: nil) == Array((expected + "\r\n").utf8))
    }

    @Test("is accepted from a client with upper-case digits, lists and other fields")
    func client() throws {
        let head = Self.head(
            [
                "GET": "GET /cable/connect/00FFAB/\(Self.tunnel.uppercased()) HTTP/1.1",
                "Connection": "CONNECTION: keep-alive,\tUPGRADE", "Upgrade": "upgrade:WebSocket",
                "Sec-WebSocket-Protocol": "sec-websocket-protocol: other , fido.cable",
            ],
            adding: ["Origin: https://cable.example", "User-Agent: a (b; c) \u{E9}", "X-Empty:", "Content-Length: 0"]
        )
        let routing = try #require(RoutingID(hex: "00ffab"))
        let tunnel = try #require(TunnelID(hex: Self.tunnel))
        #expect(try UpgradeRequest(parsing: head).path == .connect(routing, tunnel))
    }

    @Test("is accepted from a client that contacts a phone, and the response has the signal that it asks for")
    func contactRequest() throws {
        let fields = ["X-CABLE-client-payload: 00fF", "X-caBLE-Signal-Connection: True"]
        for count in 1...2 {
            let request = try UpgradeRequest(
                parsing: Self.head(["GET": "GET /cable/contact/AbC_ HTTP/1.1"], adding: Array(fields.prefix(count)))
            )
            #expect(request.path == .contact(try #require(ContactID(base64URL: "AbC_"))))
            #expect(request.payload?.bytes == [0, 255] && request.signalsConnection == (count == 2))
            let response = String(decoding: request.response(routing: nil), as: UTF8.self)
            #expect(response.contains("\r\nSec-WebSocket-Protocol: fido.cable\r\n"))
            #expect(response.contains("\r\nX-caBLE-Signal-Connection: true\r\n") == (count == 2))
        }
    }

    @Test(
        "may ask for an answer at once, as load balancers do for contacts",
        arguments: [("1", 1), ("2", 2), ("0", 0), ("3", 0), ("x", 0)] as [(String, UInt8)]
    )
    func peek(value: String, count: UInt8) throws {
        let fields = ["X-caBLE-Client-Payload: 00", "x-hybrid-PEEK: \(value)"]
        let contact = Self.head(["GET": "GET /cable/contact/AbC_ HTTP/1.1"], adding: fields)
        #expect(try UpgradeRequest(parsing: contact, fromBalancer: true).peeks == count)
        #expect(try UpgradeRequest(parsing: contact).peeks == 0, "from any other peer")
        #expect(try UpgradeRequest(parsing: Self.head(adding: fields), fromBalancer: true).peeks == 0)
    }

    @Test("may have the field of load balancers twice, unless it comes from one")
    func repeatedPeek() throws {
        let head = Self.contact("X-caBLE-Client-Payload: ab", "X-Hybrid-Peek: 1", "X-Hybrid-Peek: 1")
        #expect(Self.refusal(head) == nil)
        #expect(throws: UpgradeRefusal.duplicateField) { try UpgradeRequest(parsing: head, fromBalancer: true) }
    }

    @Test("is accepted from a phone that listens, with its own subprotocol")
    func listenRequest() throws {
        let request = try UpgradeRequest(parsing: LinkedPhone().listenRequest(adding: ["X-caBLE-Client-Payload: zz"]))
        #expect(request.payload == nil && !request.signalsConnection)
        let response = String(decoding: request.response(routing: nil), as: UTF8.self)
        #expect(response.hasSuffix("\r\nSec-WebSocket-Protocol: hybrid-relay.listen.v1\r\n\r\n"))
    }

    @Test("is accepted with subprotocols in several fields")
    func spreadList() {
        let head = Self.head(adding: ["Sec-WebSocket-Protocol: other", "Connection: keep-alive"])
        #expect(Self.refusal(head) == nil)
    }

    static let refusals: [(UpgradeRefusal, [UInt8])] = [
        (.notOurPath, head(["GET": "GET / HTTP/1.1"])),
        (.notOurPath, head(["GET": "GET /cable/new HTTP/1.1"])),
        (.notOurPath, head(["GET": "GET /cable/new/\(tunnel)/ HTTP/1.1"])),
        (.notOurPath, head(["GET": "GET /Cable/new/\(tunnel) HTTP/1.1"])),
        (.notOurPath, head(["GET": "GET /metrics HTTP/1.1"])),
        (.notOurPath, head(["GET": "POST /metrics HTTP/1.1"])),
        (.notOurPath, head(["GET": "GET ftp://cable.example/cable/new/\(tunnel) HTTP/1.1"])),
        (.malformedID, head(["GET": "GET /cable/contact/ab=c HTTP/1.1"])),
        (.malformedID, head(["GET": "GET /cable/listen/ HTTP/1.1"])),
        (.notOurPath, head(["GET": "GET /cable/listen/AbC_/ HTTP/1.1"])),
        (.malformedPayload, head(["GET": "GET /cable/contact/AbC_ HTTP/1.1"])),
        (.malformedPayload, contact("X-caBLE-Client-Payload: abc")),
        (.malformedPayload, contact("X-caBLE-Client-Payload: \(String(repeating: "ab", count: 257))")),
        (.duplicateField, contact("X-caBLE-Client-Payload: ab", "x-cable-client-payload: ab")),
        (.duplicateField, contact("X-caBLE-Signal-Connection: true", "X-caBLE-Signal-Connection: true")),
        (.missingListenProtocol, head(["GET": "GET /cable/listen/AbC_ HTTP/1.1"])),
        (
            .missingSubprotocol,
            contact("X-caBLE-Client-Payload: ab", subprotocol: "Sec-WebSocket-Protocol: hybrid-relay.listen.v1")
        ),
        (.malformedID, head(["GET": "GET /cable/new/\(tunnel)0 HTTP/1.1"])),
        (.malformedID, head(["GET": "GET /cable/new/ HTTP/1.1"])),
        (.malformedID, head(["GET": "GET /cable/new/\(tunnel.dropLast())g HTTP/1.1"])),
        (.malformedID, head(["GET": "GET /cable/new/\(tunnel)?a=b HTTP/1.1"])),
        (.malformedID, head(["GET": "GET /cable/connect/00000/\(tunnel) HTTP/1.1"])),
        (.malformedID, head(["GET": "GET /cable/connect/000000/\(tunnel.dropLast()) HTTP/1.1"])),
        (.methodNotAllowed, head(["GET": "POST /cable/new/\(tunnel) HTTP/1.1"])),
        (.methodNotAllowed, head(["GET": "get /cable/new/\(tunnel) HTTP/1.1"])),
        (.methodNotAllowed, head(["GET": "HEAD /cable/new/\(tunnel)00 HTTP/1.1"])),
        (.upgradeRequired, head(["Upgrade": nil])),
        (.upgradeRequired, head(["Connection": nil])),
        (.upgradeRequired, head(["Upgrade": "Upgrade: h2c"])),
        (.upgradeRequired, head(["Connection": "Connection: keep-alive"])),
        (.unsupportedWebSocketVersion, head(["Sec-WebSocket-Version": nil])),
        (.unsupportedWebSocketVersion, head(["Sec-WebSocket-Version": "Sec-WebSocket-Version: 8"])),
        (.unsupportedWebSocketVersion, head(["Sec-WebSocket-Version": "Sec-WebSocket-Version: 13, 8"])),
        (.malformedKey, head(["Sec-WebSocket-Key": nil])),
        (.malformedKey, head(["Sec-WebSocket-Key": "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ="])),
        (.malformedKey, head(["Sec-WebSocket-Key": "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQAA"])),
        (.malformedKey, head(["Sec-WebSocket-Key": "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j_Q=="])),
        (.missingSubprotocol, head(["Sec-WebSocket-Protocol": nil])),
        (.missingSubprotocol, head(["Sec-WebSocket-Protocol": "Sec-WebSocket-Protocol: fido.cable2"])),
        (.unsupportedHTTPVersion, head(["GET": "GET /cable/new/\(tunnel) HTTP/1.0"])),
        (.unsupportedHTTPVersion, head(["GET": "GET /cable/new/\(tunnel) HTTP/2"])),
        (.malformedRequestLine, head(["GET": "GET /cable/new/\(tunnel)"])),
        (.malformedRequestLine, head(["GET": "GET  /cable/new/\(tunnel) HTTP/1.1"])),
        (.malformedRequestLine, head(["GET": "GET /cable/new/\(tunnel) HTTP/1.1 "])),
        (.malformedRequestLine, head(["GET": "GET /cable/new/\(tunnel) http/1.1"])),
        (.malformedRequestLine, head(["GET": "G(T /cable/new/\(tunnel) HTTP/1.1"])),
        (.malformedRequestLine, head(["GET": "GET /cable/new/\u{E9} HTTP/1.1"])),
        (.malformedRequestLine, head(["GET": ""])),
        (.missingHost, head(["Host": nil])),
        (.missingHost, head(["Host": "Host: "])),
        (.missingHost, head(["Host": "Host: a b"])),
        (.missingHost, head(["Host": "Host: https://cable.example"])),
        (.missingHost, head(["Host": "Host: cable.example/x"])),
        (.missingHost, head(["Host": "Host: user@cable.example"])),
        (.missingHost, head(["Host": "Host: cable.example:443443"])),
        (.duplicateField, head(adding: ["host: other.example"])),
        (.duplicateField, head(adding: ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="])),
        (.duplicateField, head(adding: ["Sec-WebSocket-Version: 13"])),
        (.duplicateField, head(adding: ["Content-Length: 0", "Content-Length: 0"])),
        (.bodyNotAllowed, head(adding: ["Content-Length: 5"])),
        (.bodyNotAllowed, head(adding: ["Transfer-Encoding: chunked"])),
        (.methodNotAllowed, head(["GET": "POST /cable/new/\(tunnel) HTTP/1.1"], adding: ["Content-Length: 5"])),
        (.notOurPath, head(["GET": "POST / HTTP/1.1"], adding: ["Content-Length: 5"])),
        (.malformedField, head(adding: ["No colon"])),
        (.malformedField, head(adding: [": no name"])),
        (.malformedField, head(adding: ["Space : before"])),
        (.malformedField, head(adding: ["X: a", " folded: b"])),
        (.controlCharacter, head(adding: ["X: a\u{0}b"])),
        (.controlCharacter, head(adding: ["X: a\u{7F}b"])),
        (.controlCharacter, head(adding: ["X: a\nY: b"])),
        (.controlCharacter, head(adding: ["X: a\rY: b"])),
        (.controlCharacter, head(["GET": "GET /cable/new/\u{1}\(tunnel) HTTP/1.1"])),
        (.controlCharacter, Array("\u{16}\u{3}\u{1}".utf8)),
        (.malformedRequestLine, []),
        (.malformedRequestLine, Array("GET".utf8)),
    ]

    @Test("is refused for the first violated rule", arguments: refusals)
    func refused(expected: UpgradeRefusal, head: [UInt8]) {
        #expect(Self.refusal(head) == expected)
    }

    @Test("is answered with the status of the refusal")
    func statuses() throws {
        let expected: [UpgradeRefusal: Int] = [
            .notOurPath: 404, .contactNotOffered: 404, .unknownTunnel: 404, .malformedID: 400, .methodNotAllowed: 405,
            .upgradeRequired: 426, .unsupportedWebSocketVersion: 426, .malformedKey: 400, .missingSubprotocol: 400,
            .headTooLarge: 431, .headTimeout: 408, .full: 503, .missingHost: 400, .duplicateField: 400,
            .controlCharacter: 400, .malformedField: 400, .malformedRequestLine: 400, .unsupportedHTTPVersion: 400,
            .bodyNotAllowed: 400, .forbiddenOrigin: 403, .tokenMissing: 401, .tokenWrong: 401, .tooManyRequests: 429,
            .draining: 503, .foreignContact: 404, .contactUnreachable: 404, .tooManyWakeUps: 429,
            .malformedPayload: 400, .missingListenProtocol: 400, .tooManyListeners: 503, .pushUnavailable: 502,
            .listenerElsewhere: 504,
            .contactGone(try ContactTableUnderTest.revocation()): 410,
        ]
        #expect(Set(UpgradeRefusal.statuses) == Set(expected.values))
        for (refusal, status) in expected {
            #expect(refusal.status == status, "\(refusal)")
            #expect(refusal.response.hasPrefix("HTTP/1.1 \(refusal.status) "))
            #expect(refusal.response.contains("\r\nConnection: close\r\n"))
            #expect(refusal.response.hasSuffix("\n"))
            let parts = refusal.response.split(separator: "\r\n\r\n")
            #expect(parts.count == 2)
            #expect(parts.last?.filter(\.isNewline).count == 1, "the body is one line")
            #expect(parts.first?.contains("\r\nContent-Length: \(parts.last?.utf8.count ?? 0)") == true)
        }
        #expect(UpgradeRefusal.methodNotAllowed.response.contains("\r\nAllow: GET\r\n"))
        #expect(UpgradeRefusal.unsupportedWebSocketVersion.response.contains("\r\nSec-WebSocket-Version: 13\r\n"))
        let challenge = "\r\nWWW-Authenticate: Bearer realm=\"hybrid-relay\""
        #expect(UpgradeRefusal.tokenMissing.response.contains("HTTP/1.1 401 Unauthorized\r\n"))
        #expect(UpgradeRefusal.tokenMissing.response.contains("\(challenge)\r\n"))
        #expect(UpgradeRefusal.tokenWrong.response.contains("\(challenge), error=\"invalid_token\"\r\n"))
        #expect(UpgradeRefusal.forbiddenOrigin.response.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
        #expect(UpgradeRefusal.tooManyRequests.response.hasPrefix("HTTP/1.1 429 Too Many Requests\r\n"))
        #expect(UpgradeRefusal.tooManyRequests.response.contains("\r\nRetry-After: 60\r\n"))
        #expect(UpgradeRefusal.draining.response.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
        #expect(UpgradeRefusal.draining.response.contains("\r\nRetry-After: 5\r\n"))
        #expect(UpgradeRefusal.tooManyWakeUps.response.contains("\r\nRetry-After: 10\r\n"))
        #expect(UpgradeRefusal.contactNotOffered.response.hasSuffix("\r\nlinked phones are not offered here\n"))
    }

    @Test(
        "may have a target in absolute form, whose host replaces Host",
        arguments: [
            ("https://cable.example", OriginCheck.sameHost), ("HTTP://cable.example:8080", .sameHost),
            ("wss://Cable.example", .sameHost), ("ws://other.example", .otherHost),
        ]
    )
    func absoluteForm(prefix: String, origin: OriginCheck) throws {
        let request = try UpgradeRequest(
            parsing: Self.head(
                ["GET": "GET \(prefix)/cable/new/\(Self.tunnel) HTTP/1.1", "Host": "Host: x.example"],
                adding: ["Origin: https://cable.example"]
            )
        )
        #expect(request.path == .new(try #require(TunnelID(hex: Self.tunnel))))
        #expect(request.origin == origin)
        for target in [
            "\(prefix)/", prefix, "\(prefix)/x/cable/new/\(Self.tunnel)", "ftp://x/cable/new/\(Self.tunnel)",
        ] {
            #expect(Self.refusal(Self.head(["GET": "GET \(target) HTTP/1.1"])) == .notOurPath, "\(target)")
        }
        for host in ["", "user@cable.example", "%20", "a:b"] {
            let target = "https://\(host)/cable/new/\(Self.tunnel)"
            #expect(Self.refusal(Self.head(["GET": "GET \(target) HTTP/1.1"])) == .missingHost, "\(target)")
        }
    }

    @Test("may follow a few empty lines", arguments: 1...RequestHead.maximumEmptyLines)
    func emptyLines(number: Int) throws {
        let head = Array(String(repeating: "\r\n", count: number).utf8) + Self.head()
        #expect(Self.refusal(head) == nil)
        var reader = RequestHeadReader(maximumLength: 8192)
        for count in 1..<head.count {
            let early = try reader.length(of: head.span.extracting(first: count).bytes)
            #expect(early == nil)
        }
        let length = try reader.length(of: head.span.bytes)
        #expect(length == head.count)
        let more = String(repeating: "\r\n", count: RequestHead.maximumEmptyLines + 1)
        #expect(Self.refusal(Array(more.utf8) + Self.head()) == .malformedRequestLine)
    }

    @Test("is refused wherever it is truncated")
    func truncations() {
        let head = Self.head()
        for length in 0..<head.count {
            #expect(Self.refusal(Array(head.prefix(length))) != nil, "\(length)")
        }
    }

    @Test("never traps on changed bytes")
    func mutations() {
        let head = Self.head()
        var refused = 0
        for index in head.indices {
            for byte: UInt8 in [0, 9, 10, 13, 32, 47, 58, 127, 128, 255] {
                var changed = head
                changed[index] = byte
                if Self.refusal(changed) != nil { refused += 1 }
            }
        }
        #expect(refused > head.count)
    }

    @Test("may arrive in any two pieces, followed by frames")
    func splits() throws {
        let head = Self.head()
        let bytes = head + [0x82, 0x80, 1, 2, 3, 4]
        for cut in 0...bytes.count {
            var reader = RequestHeadReader(maximumLength: 8192)
            let first = try reader.length(of: bytes.span.extracting(first: cut).bytes)
            #expect(first == (cut < head.count ? nil : head.count), "\(cut)")
            guard first == nil else { continue }
            let second = try reader.length(of: bytes.span.bytes)
            #expect(second == head.count, "\(cut)")
        }
    }

    @Test("may arrive byte by byte")
    func byteByByte() throws {
        var reader = RequestHeadReader(maximumLength: 8192)
        let head = Self.head()
        for count in 1..<head.count {
            let early = try reader.length(of: head.span.extracting(first: count).bytes)
            #expect(early == nil)
        }
        let length = try reader.length(of: head.span.bytes)
        #expect(length == head.count)
    }

    @Test("may have up to a hundred fields")
    func fields() {
        let others = 100 - (Self.newHead.count - 1)
        #expect(Self.refusal(Self.head(adding: Array(repeating: "a: b", count: others))) == nil)
        #expect(Self.refusal(Self.head(adding: Array(repeating: "a: b", count: others + 1))) == .headTooLarge)
    }

    @Test("may be as long as the limit", arguments: [true, false])
    func length(inOnePiece: Bool) throws {
        let head = Self.head(adding: ["X: \(String(repeating: "a", count: 300))"])
        var fits = RequestHeadReader(maximumLength: head.count)
        let glued = head + [1]
        let length = try fits.length(of: glued.span.bytes)
        #expect(length == head.count)
        var tight = RequestHeadReader(maximumLength: head.count - 1)
        #expect(throws: UpgradeRefusal.headTooLarge) {
            for count in (inOnePiece ? head.count : 1)...head.count {
                _ = try tight.length(of: head.span.extracting(first: count).bytes)
            }
        }
        var endless = RequestHeadReader(maximumLength: 8192)
        let letters = [UInt8](repeating: 0x61, count: 9 << 10)
        #expect(throws: UpgradeRefusal.headTooLarge) {
            for count in 1...9 { _ = try endless.length(of: letters.span.extracting(first: count << 10).bytes) }
        }
    }
}
