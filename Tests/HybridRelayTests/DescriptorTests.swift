// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("Descriptors of the relay", .timeLimit(.minutes(10)))
struct DescriptorTests {
    /// The way in which one or two connections begin and end.
    private enum Course: CaseIterable {
        case silent
        case halfHead
        case halfClosed
        case reset
        /// A TLS client that leaves after its first message.
        case hello
        case helloReset
        case garbage
        case refused
        case phoneReset
        case phoneHalfClosed
        case clientCloses
        case phoneResetsPair
        case bothReset
    }

    private static let closeFrame: [UInt8] = [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8]
    private static let messageFrame: [UInt8] = [0x82, 0x81, 0, 0, 0, 0, 7]

    /// A TLS 1.2 ClientHello with P-256 and one suite, to which the relay responds with its certificate.
    private static let clientHello: [UInt8] = {
        let extensions: [UInt8] =
            [0, 10, 0, 4, 0, 2, 0, 23] + [0, 11, 0, 2, 1, 0] + [0, 13, 0, 4, 0, 2, 4, 3]
        let body: [UInt8] =
            [3, 3] + [UInt8](repeating: 7, count: 32) + [0, 0, 2, 0xC0, 0x2B, 1, 0, 0, UInt8(extensions.count)]
            + extensions
        return [0x16, 3, 1, 0, UInt8(body.count + 4), 1, 0, 0, UInt8(body.count)] + body
    }()

    @Test("are closed after connections that ended in every order, and a new tunnel can be opened")
    func plain() async throws {
        try await RelayProcess.run(["--plaintext", "--event-loops", "2"]) { relay in
            try await Self.openTunnel(relay, tunnel: "f")
            try await Self.stress(relay, courses: Course.allCases.filter { $0 != .hello && $0 != .helloReset })
            try await Self.openTunnel(relay, tunnel: "f")
        }
    }

    @Test("are closed after TLS connections that ended in every phase of the handshake")
    func secure() async throws {
        try await Folder.with { folder in
            let (certificate, key) = (folder + "/cert.pem", folder + "/key.pem")
            let made = try SpawnedProcess([
                "openssl", "req", "-x509", "-days", "2", "-nodes", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate,
            ])
            try #require(try await made.end() == 0)
            let options = ["--tls-cert", certificate, "--tls-key", key, "--event-loops", "2"]
            try await RelayProcess.run(options) { relay in
                try await Self.requestOverTLS(relay, in: folder)
                try await Self.stress(
                    relay,
                    courses: [.silent, .halfHead, .halfClosed, .reset, .hello, .hello, .helloReset, .garbage]
                )
                try await Self.requestOverTLS(relay, in: folder)
            }
        }
    }

    /// Opens and closes connections in random order, eight at a time, and waits until no more descriptors are open than
    /// before.
    private static func stress(_ relay: RelayProcess, courses: [Course]) async throws {
        let before = try #require(try await relay.metric("process_open_fds"))
        let random = SeededGenerator()
        let port = relay.port
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var own = SeededGenerator(seed: random.seed &+ UInt64(worker))
                    for _ in 0..<Thoroughness.rounds(40, thorough: 1_000) {
                        try await run(courses[own.number(0...(courses.count - 1))], port: port, random: &own)
                    }
                }
            }
            try await group.waitForAll()
        }
        try await Waiting.until("the descriptors to be closed", evidence: "\(random)") {
            try await relay.metric("process_open_fds") ?? .infinity <= before
        }
        try await Waiting.until("no connection to be counted", evidence: "\(random)") {
            try await relay.metric("hybrid_relay_connections_open") == 0
        }
    }

    private static func run(_ course: Course, port: Int, random: inout SeededGenerator) async throws {
        let end = try await Conversation.open(port: port)
        switch course {
        case .silent: break
        case .halfHead: try await end.send(Array("GET /cable/new/".utf8))
        case .halfClosed:
            try await end.send(Array(clientHello.prefix(random.number(0...clientHello.count))))
            end.shutDownOutput()
            if random.number(0...1) == 0 { _ = try await end.readToEnd() }
        case .reset: end.resetWhenClosed()
        case .hello, .helloReset:
            try await end.send(clientHello)
            if random.number(0...3) > 0 { _ = try await end.read(1) }
            if course == .helloReset { end.resetWhenClosed() }
        case .garbage:
            // A version of TLS as the second byte would make it the header of a record whose rest is missing.
            try await end.send([0xFF, 0xFF] + random.bytes(40) + Array("\r\n\r\n".utf8))
            _ = try await end.readToEnd()
        case .refused:
            try await end.send(Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            if random.number(0...1) == 0 { _ = try await end.readToEnd() }
        default: try await runTunnel(course, phone: end, port: port, random: &random)
        }
    }

    private static func runTunnel(
        _ course: Course,
        phone: Conversation,
        port: Int,
        random: inout SeededGenerator
    ) async throws {
        // The relay closes the oldest of many phones with the same tunnel ID.
        let tunnel = random.bytes(16).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        try await phone.send(request("/cable/new/\(tunnel)"))
        if course == .phoneReset, random.number(0...1) == 0 { return phone.resetWhenClosed() }
        let head = try await phone.readHead()
        if course == .phoneReset { return phone.resetWhenClosed() }
        if course == .phoneHalfClosed {
            phone.shutDownOutput()
            _ = try await phone.readToEnd()
            return
        }
        let routing = try #require(head.split(separator: "X-caBLE-Routing-ID: ").last).prefix(6)
        let client = try await Conversation.open(port: port)
        try await client.send(request("/cable/connect/\(routing)/\(tunnel)") + messageFrame)
        if random.number(0...1) == 0 { _ = try await client.readHead() }
        switch course {
        case .clientCloses:
            try await client.send(closeFrame)
            _ = try await phone.readToEnd()
            if random.number(0...1) == 0 { _ = try await client.readToEnd() }
        case .phoneResetsPair:
            phone.resetWhenClosed()
            if random.number(0...1) == 0 { try await client.send(messageFrame) }
        default:
            phone.resetWhenClosed()
            client.resetWhenClosed()
        }
    }

    private static func request(_ path: String) -> [UInt8] {
        Array(
            ("GET \(path) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                + "Sec-WebSocket-Protocol: fido.cable\r\n\r\n").utf8
        )
    }

    private static func openTunnel(_ relay: RelayProcess, tunnel: Character) async throws {
        let (phone, head) = try await relay.phone(tunnel: tunnel)
        let routing = try #require(head.split(separator: "X-caBLE-Routing-ID: ").last).prefix(6)
        let path = "/cable/connect/\(routing)/\(String(repeating: tunnel, count: 32))"
        let (client, answer) = try await relay.ask(path)
        #expect(answer.hasPrefix("HTTP/1.1 101 "))
        try await client.send(messageFrame + closeFrame)
        #expect(try await phone.readToEnd() == [0x82, 1, 7, 0x88, 2, 0x03, 0xE8])
        #expect(try await client.readToEnd() == [0x88, 2, 0x03, 0xE8])
    }

    private static func requestOverTLS(_ relay: RelayProcess, in folder: String) async throws {
        let client = try RunningProgram(
            "/usr/bin/openssl",
            ["s_client", "-connect", "127.0.0.1:\(relay.port)", "-ign_eof", "-quiet"],
            in: folder,
            input: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        let ending = try await client.ending(within: .seconds(60))
        #expect(ending.output.contains("HTTP/1.1 404 "), "\(ending)")
    }
}
