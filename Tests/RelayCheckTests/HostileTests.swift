// SPDX-License-Identifier: Apache-2.0

import HybridRelayCheck
import Testing

@Suite("Servers that mean no good, or are no relays", .serialized, .timeLimit(.minutes(10)))
struct HostileTests {
    private static func run(
        _ hostility: Hostility,
        _ options: CheckOptions
    ) async throws -> CheckReport {
        var made: CheckReport?
        try await hostility.serve { port in made = try await check("ws://127.0.0.1:\(port)", options) }
        let report = try #require(made)
        #expect(report.results.map(\.id) == CheckID.allCases)
        for result in report.results {
            #expect(result.line.utf8.count < 400 && !result.line.contains { $0.isNewline }, "\(result.line)")
        }
        return report
    }

    /// What a server does, what is told of it as the answer to `/cable/new`, and whether that is all.
    struct First: Sendable, CustomTestStringConvertible {
        let hostility: Hostility
        let text: String
        /// What is told instead where so much has come at once that this is noticed first.
        var otherText: String?
        var isLast = true
        /// Short where the server is waited for in vain, but it bounds the connecting, too.
        var timeout = Duration.seconds(30)

        var testDescription: String { text }
    }

    private static let long = String(repeating: "X-Long: " + String(repeating: "y", count: 92) + "\r\n", count: 200)
    private static let first = [
        First(hostility: .hangsUp, text: "the connection ended: closed by the relay"),
        First(hostility: .resets, text: "the connection ended: reset by the relay"),
        First(hostility: .answers(""), text: "nothing within 10 s", timeout: .seconds(10)),
        First(hostility: .trickles, text: "nothing within 10 s", timeout: .seconds(10)),
        First(hostility: .greets("SSH-2.0-x\r\n\r\n"), text: "no HTTP/1.1 answer"),
        First(hostility: .answers("HTTP/2 101\r\n\r\n"), text: "no HTTP/1.1 answer"),
        First(hostility: .answers("\r\n\r\n"), text: "no HTTP/1.1 answer"),
        First(hostility: .answers("HTTP/1.1 +10\r\n\r\n"), text: "a status line without a status"),
        First(hostility: .answers("HTTP/1.1\r\n\r\n"), text: "a status line without a status"),
        First(hostility: .answers("HTTP/1.1 200 OK\r\n" + long), text: "a response head of more than 16 KiB"),
        First(
            hostility: .floods([UInt8](repeating: 13, count: 1 << 16)),
            text: "a response head of more than 16 KiB",
            otherText: "more than 8 MiB came on one connection"
        ),
        First(
            hostility: .answers("HTTP/1.1 302 Found\r\nLocation: wss://other/\u{1B}[2J\r\n\r\n"),
            text: "302, a redirection to \"wss://other/\u{1B}[2J\", which clients do not follow",
            isLast: false
        ),
        First(hostility: .answers("HTTP/1.0 200 OK\r\n\r\n"), text: "200", isLast: false),
    ]

    @Test("are told in a line each", arguments: first)
    func firstAnswer(_ expected: First) async throws {
        var options = CheckOptions.testing
        options.timeout = expected.timeout
        let report = try await Self.run(expected.hostility, options)
        let told = [expected.text, expected.otherText].compactMap { $0 }.map(CheckOutcome.differs)
        #expect(told.contains { $0 == report.outcome(.newUpgrade) })
        #expect(report.verdict == .differs)
        // The connection that finds the address is one, too.
        if expected.isLast { #expect(report.connections == 2) }
        let isHopeless = report.outcome(.slowHead) == .prevented("/cable/new got no HTTP answer")
        #expect(isHopeless == expected.isLast)
    }

    @Test("that are full are left alone after three answers", arguments: [429, 503])
    func busy(status: Int) async throws {
        let report = try await Self.run(.answers("HTTP/1.1 \(status) Busy\r\n\r\n"), .testing)
        #expect(report.differing == [])
        #expect(report.verdict == .incomplete)
        #expect(report.connections == 4)
        #expect(report.outcome(.slowHead) == .prevented("the relay answers \(status) again and again"))
    }

    @Test("that want a token are not taken for faulty, and it is said what to do")
    func token() async throws {
        try await FaultyRelay.run(nil, token: "abc") { port in
            let report = try await check("ws://127.0.0.1:\(port)")
            #expect(report.differing == [])
            #expect(report.verdict == .incomplete)
            #expect(report.wantsToken)
            let text = "the relay wants a token: name its file with --tunnel-token-file"
            #expect(report.outcome(.newUpgrade) == .prevented(text))
            #expect(report.outcome(.unknownTunnel) == .ok("404"))
            var options = CheckOptions.testing
            options.token = TunnelToken("abd".utf8)
            let other = try await check("ws://127.0.0.1:\(port)", options)
            #expect(other.wantsToken)
            #expect(other.outcome(.newUpgrade) == .prevented("the relay does not take this token; ask who runs it"))
        }
    }

    @Test("that repeat the token do not have it shown")
    func repeatedToken() async throws {
        var options = CheckOptions.testing
        options.token = TunnelToken("secret-1".utf8)
        let answer =
            "HTTP/1.1 101 Hm\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: secret-1\r\n\r\n"
        let report = try await Self.run(.answers(answer), options)
        #expect(report.outcome(.newAccept) == .differs("\"(token)\""))
        #expect(!String(decoding: try report.json(), as: UTF8.self).contains("secret"))
        #expect(!"\(options)".contains("secret"))
    }

    /// Bytes behind a right answer to a request for a WebSocket, and what is told of them.
    struct Frames: Sendable, CustomTestStringConvertible {
        let bytes: [UInt8]
        let text: String

        var testDescription: String { text }
    }

    private static let frames = [
        Frames(bytes: [0x82, 0], text: "client to phone: a message of 0 bytes instead of 1 bytes"),
        Frames(bytes: [0x8A, 0], text: "client to phone: a pong instead of 1 bytes"),
        Frames(bytes: [0x89, 126, 0, 200], text: "a control frame in fragments, or of more than 125 bytes"),
        Frames(bytes: [0x09, 0], text: "a control frame in fragments, or of more than 125 bytes"),
        Frames(bytes: [0x82, 127, 0x7F, 0, 0, 0, 0, 0, 0, 0], text: "a frame of 9151314442816847872 bytes"),
        Frames(bytes: [0x82, 127, 0xFF, 0, 0, 0, 0, 0, 0, 0], text: "a frame of 18374686479671623680 bytes"),
        Frames(bytes: [0x82, 0x80, 0, 0, 0, 0], text: "a masked frame, which only clients send"),
        Frames(bytes: [0xC2, 0], text: "a frame with reserved bits"),
        Frames(bytes: [0x83, 0], text: "a frame of unknown kind"),
        Frames(bytes: [0x80, 0], text: "stray fragments"),
        Frames(bytes: [0x02, 0, 0x02, 0], text: "stray fragments"),
        Frames(bytes: [0x88, 1, 3], text: "client to phone: a close without a code instead of 1 bytes"),
    ]

    @Test("that send frames as they should not are told in a line", arguments: frames)
    func wrongFrames(_ expected: Frames) async throws {
        var options = CheckOptions.testing
        // Short where a check waits for a server that says nothing more.
        options.patience = [.ping: .seconds(1), .cutByClient: .seconds(1), .cutByPhone: .seconds(1)]
        let report = try await Self.run(.upgradesAndSends(expected.bytes), options)
        #expect(report.outcome(.join) == .ok("101"))
        #expect(report.outcome(.messagesSmall) == .differs(expected.text))
        #expect(report.verdict == .differs)
    }

    private static let endless = [
        Frames(bytes: [0x89, 0], text: "pings"),
        // A beginning comes again only behind the 8 MiB.
        Frames(
            bytes: [2, 0]
                + (0..<80).flatMap { _ in [0, 127, 0, 0, 0, 0, 0, 2, 0, 0] + [UInt8](repeating: 0, count: 2 << 16) },
            text: "a message that never ends"
        ),
    ]

    @Test("that send frames without end are listened to for 8 MiB", arguments: endless)
    func endlessFrames(_ frames: Frames) async throws {
        let report = try await Self.run(.upgradesAndFloods(frames.bytes), .testing)
        #expect(report.outcome(.messagesSmall) == .differs("more than 8 MiB came on one connection"))
    }

    @Test("that have sent millions of pings at once are not answered longer than a check may take")
    func pings() async throws {
        var options = CheckOptions.testing
        options.timeout = .seconds(6)
        let report = try await Self.run(.upgradesAndSends([0x89, 0], atLeast: 4 << 20), options)
        #expect(report.outcome(.messagesSmall)?.found.contains("nothing within 6 s") == true)
    }

    @Test("that go away in the middle are let go", arguments: [2, 3, 4])
    func gone(connections: Int) async throws {
        let report = try await Self.run(.resetsAfter(connections), .testing)
        #expect(report.verdict == .differs)
        #expect(report.connections < 60)
        #expect(report.outcome(.newUpgrade) == .ok("101"))
        #expect(report.outcome(.uppercaseIDs)?.found.contains("reset by the relay") == true)
    }
}
