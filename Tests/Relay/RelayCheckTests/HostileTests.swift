// SPDX-License-Identifier: Apache-2.0

import HybridNetwork
import HybridRelayCheck
import Testing

@Suite("Hostile servers, and servers that are no relays", .serialized, .timeLimit(.minutes(10)))
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

    /// Behavior of a server, and the expected outcome of `/cable/new`.
    struct First: Sendable, CustomTestStringConvertible {
        let hostility: Hostility
        let text: String
        /// Alternative outcome if more data arrives at once.
        var otherText: String?
        /// True if the run stops after it.
        var isLast = true
        /// Short for a server that stays silent; also limits the time to connect.
        var timeout = Duration.seconds(30)

        var testDescription: String { text }
    }

    private static let long = String(repeating: "X-Long: " + String(repeating: "y", count: 92) + "\r\n", count: 200)
    private static let first = [
        First(hostility: .hangsUp, text: "the connection ended: closed by the relay"),
        First(hostility: .resets, text: "the connection ended: reset by the relay"),
        First(hostility: .answers(""), text: "nothing within 10 s", timeout: .seconds(10)),
        First(hostility: .trickles, text: "nothing within 10 s", timeout: .seconds(10)),
        First(hostility: .greets("SSH-2.0-x\r\n\r\n"), text: "no HTTP/1.1 response"),
        First(hostility: .answers("HTTP/2 101\r\n\r\n"), text: "no HTTP/1.1 response"),
        First(hostility: .answers("\r\n\r\n"), text: "no HTTP/1.1 response"),
        First(hostility: .answers("HTTP/1.1 +10\r\n\r\n"), text: "a status line without a status"),
        First(hostility: .answers("HTTP/1.1\r\n\r\n"), text: "a status line without a status"),
        First(hostility: .answers("HTTP/1.1 200 OK\r\n" + long), text: "a response head of more than 16 KiB"),
        First(
            hostility: .floods([UInt8](repeating: 13, count: 1 << 16)),
            text: "a response head of more than 16 KiB",
            otherText: "the relay sent more than 8 MiB over one connection"
        ),
        First(
            hostility: .answers("HTTP/1.1 302 Found\r\nLocation: wss://other/\u{1B}[2J\r\n\r\n"),
            text: "302, a redirection to \"wss://other/\u{1B}[2J\", which clients do not follow",
            isLast: false
        ),
        First(hostility: .answers("HTTP/1.0 200 OK\r\n\r\n"), text: "200", isLast: false),
    ]

    @Test("are described in one line each", arguments: first)
    func firstAnswer(_ expected: First) async throws {
        var options = CheckOptions.testing
        options.timeout = expected.timeout
        let report = try await Self.run(expected.hostility, options)
        let outcomes = [expected.text, expected.otherText].compactMap { $0 }.map(CheckOutcome.differs)
        #expect(outcomes.contains { $0 == report.outcome(.newUpgrade) })
        #expect(report.verdict == .differs)
        // The connection that finds the address counts, too.
        if expected.isLast { #expect(report.connections == 2) }
        let isHopeless = report.outcome(.slowHead) == .prevented("/cable/new got no HTTP response")
        #expect(isHopeless == expected.isLast)
    }

    @Test("that are full stop the run after three responses", arguments: [429, 503])
    func busy(status: Int) async throws {
        let report = try await Self.run(.answers("HTTP/1.1 \(status) Busy\r\n\r\n"), .testing)
        #expect(report.differing == [])
        #expect(report.verdict == .incomplete)
        #expect(report.connections == 4)
        #expect(report.outcome(.slowHead) == .prevented("the relay answers \(status) repeatedly"))
    }

    @Test("that require a token are not faulty, and the remedy is named")
    func token() async throws {
        try await FaultyRelay.run(nil, token: "abc") { port in
            let report = try await check("ws://127.0.0.1:\(port)")
            #expect(report.differing == [])
            #expect(report.verdict == .incomplete)
            #expect(report.requiresToken)
            let text = "the relay requires a token: use --tunnel-token-file"
            #expect(report.outcome(.newUpgrade) == .prevented(text))
            #expect(report.outcome(.unknownTunnel) == .ok("404"))
            var options = CheckOptions.testing
            options.token = BearerToken("abd".utf8)
            let other = try await check("ws://127.0.0.1:\(port)", options)
            #expect(other.requiresToken)
            #expect(other.outcome(.newUpgrade) == .prevented("the relay rejects this token; ask its operator"))
        }
    }

    @Test("that repeat the token do not make it visible")
    func repeatedToken() async throws {
        var options = CheckOptions.testing
        options.token = BearerToken("secret-1".utf8)
        let answer =
            "HTTP/1.1 101 Hm\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: secret-1\r\n\r\n"
        let report = try await Self.run(.answers(answer), options)
        #expect(report.outcome(.newAccept) == .differs("\"(token)\""))
        #expect(!report.json.contains("secret"))
        #expect(!"\(options)".contains("secret"))
    }

    /// Bytes behind a correct WebSocket response, and the expected outcome.
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
        Frames(bytes: [0x83, 0], text: "a frame with an unknown opcode"),
        Frames(bytes: [0x80, 0], text: "stray fragments"),
        Frames(bytes: [0x02, 0, 0x02, 0], text: "stray fragments"),
        Frames(bytes: [0x88, 1, 3], text: "client to phone: a close without a code instead of 1 bytes"),
    ]

    @Test("that send malformed frames are described in one line", arguments: frames)
    func wrongFrames(_ expected: Frames) async throws {
        var options = CheckOptions.testing
        // Short for checks that wait for a silent server.
        options.reactionTimeouts = [.ping: .seconds(1), .cutByClient: .seconds(1), .cutByPhone: .seconds(1)]
        let report = try await Self.run(.upgradesAndSends(expected.bytes), options)
        #expect(report.outcome(.join) == .ok("101"))
        #expect(report.outcome(.messagesSmall) == .differs(expected.text))
        #expect(report.verdict == .differs)
    }

    private static let endless = [
        Frames(bytes: [0x89, 0], text: "pings"),
        // The first frame is repeated only behind the 8 MiB.
        Frames(
            bytes: [2, 0]
                + (0..<80).flatMap { _ in [0, 127, 0, 0, 0, 0, 0, 2, 0, 0] + [UInt8](repeating: 0, count: 2 << 16) },
            text: "a message that never ends"
        ),
    ]

    @Test("that send endless frames are cut off at 8 MiB", arguments: endless)
    func endlessFrames(_ frames: Frames) async throws {
        let report = try await Self.run(.upgradesAndFloods(frames.bytes), .testing)
        #expect(report.outcome(.messagesSmall) == .differs("the relay sent more than 8 MiB over one connection"))
    }

    @Test("that send millions of pings are not answered beyond the time limit")
    func pings() async throws {
        var options = CheckOptions.testing
        options.timeout = .seconds(2)
        let report = try await Self.run(.upgradesAndSends([0x89, 0], atLeast: 4 << 20), options)
        #expect(report.outcome(.messagesSmall)?.found.contains("nothing within 2 s") == true)
    }

    @Test("that disappear during the run end it soon", arguments: [2, 3, 4])
    func gone(connections: Int) async throws {
        let report = try await Self.run(.resetsAfter(connections), .testing)
        #expect(report.verdict == .differs)
        #expect(report.connections < 60)
        #expect(report.outcome(.newUpgrade) == .ok("101"))
        #expect(report.outcome(.uppercaseIDs)?.found.contains("reset by the relay") == true)
    }
}
