// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCaBLE
import NIOCore
import Testing

@testable import HybridDataChannel
@testable import HybridNetwork

@Suite("Addresses of a relay", .timeLimit(.minutes(5)))
struct RacingTests {
    /// Opens a tunnel at a relay whose name has the given addresses, with the relay's port.
    private static func open(_ addresses: [String], connect seconds: Int = 60) async throws -> TunnelError? {
        let (_, refusal) = try await ScriptedRelay.run { peer in
            try await peer.answer()
            return try await peer.finish()
        } client: { endpoint -> TunnelError? in
            let port = endpoint.target(of: endpoint.domain.host).port
            var endpoint = endpoint
            endpoint.network.connectTo = []
            endpoint.network.timeouts.connect = seconds
            endpoint.network.lookup = NameLookup { _, _ in
                try addresses.map { try SocketAddress(ipAddress: $0, port: port) }
            }
            return await Client.failure(at: endpoint) { _ in }
        }
        return refusal
    }

    @Test("Addresses are tried in parallel, so that a dead one causes no delay")
    func dead() async throws {
        // 240.0.0.0/4 and 2001:db8::/32 are unreachable: they fail at once, or never answer.
        for addresses in [["127.0.0.1"], ["2001:db8::1", "127.0.0.1"], ["240.0.0.1", "127.0.0.1"]] {
            #expect(try await Self.open(addresses) == nil, "\(addresses)")
        }
    }

    /// A local port that never answers: a listener with a full queue.
    private final class SilentListener {
        private var sockets: [CInt] = []

        init?(address: String, port: Int) {
            guard let target = try? SocketAddress(ipAddress: address, port: port) else { return nil }
            let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            sockets.append(listener)
            guard target.withSockAddr({ bind(listener, $0, socklen_t($1)) }) == 0, listen(listener, 0) == 0 else {
                return nil
            }
            for _ in 0..<4 {
                let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
                sockets.append(client)
                _ = target.withSockAddr { connect(client, $0, socklen_t($1)) }
            }
        }

        deinit { for socket in sockets { close(socket) } }
    }

    @Test("After an address that never answers, the next is tried long before the timeout")
    func silent() async throws {
        let (_, refusal) = try await ScriptedRelay.run { peer in
            try await peer.answer()
            return try await peer.finish()
        } client: { endpoint -> TunnelError? in
            let port = endpoint.target(of: endpoint.domain.host).port
            let listener = try #require(SilentListener(address: "127.0.0.2", port: port))
            defer { withExtendedLifetime(listener) {} }
            var alone = endpoint
            alone.network.connectTo = []
            alone.network.timeouts.connect = 1
            alone.network.lookup = NameLookup { _, _ in [try SocketAddress(ipAddress: "127.0.0.2", port: port)] }
            let refusal = await Client.refusal(at: alone)
            #expect(refusal == .network(.timedOut(host: alone.domain.host, .connecting)), "it is silent")
            var both = endpoint
            both.network.connectTo = []
            both.network.timeouts.connect = 300
            both.network.lookup = NameLookup { _, _ in
                try ["127.0.0.2", "127.0.0.1"].map { try SocketAddress(ipAddress: $0, port: port) }
            }
            let start = ContinuousClock.now
            let failure = await Client.failure(at: both) { _ in }
            #expect(start.duration(to: .now) < .seconds(120), "earlier than the timeout")
            return failure
        }
        #expect(refusal == nil)
    }

    @Test("A refused address does not prevent the next one")
    func refusing() async throws {
        // ::1 has no listener at that port.
        #expect(try await Self.open(["::1", "127.0.0.1"]) == nil)
    }

    @Test("A name without addresses is not found")
    func none() async throws {
        var endpoint = try await ScriptedRelay.endpoint(port: 1)
        endpoint.network.connectTo = []
        endpoint.network.lookup = NameLookup { _, _ in [] }
        #expect(await Client.refusal(at: endpoint) == .network(.hostNotFound(endpoint.domain.host)))
    }

    @Test("Interim responses are skipped, but not without a limit")
    func interim() async throws {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        for (count, error) in [(8, nil), (9, "it sent more than 8 interim responses")] as [(Int, String?)] {
            let (_, refusal) = try await ScriptedRelay.run { peer in
                try await peer.answer(then: []) { String(repeating: hints, count: count) + $0 }
                return try? await peer.finish()
            } client: {
                await Client.failure(at: $0) { _ in }
            }
            #expect(refusal == error.map { .relayMisbehaved($0) })
        }
    }

    @Test(
        "Interim responses end nothing, whatever their version, fields and line ends",
        arguments: [
            "HTTP/1.0 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 100 Continue\n\n", "HTTP/1.1 104\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n",
        ]
    )
    func otherInterim(response: String) async throws {
        let (_, refusal) = try await ScriptedRelay.run { peer in
            try await peer.answer(then: []) { response + response + $0 }
            return try? await peer.finish()
        } client: {
            await Client.failure(at: $0) { _ in }
        }
        #expect(refusal == nil)
    }

    @Test("A status below 100 is none")
    func lowStatus() async throws {
        let (_, refusal) = try await ScriptedRelay.run { peer in
            try await peer.answer(then: []) { "HTTP/1.1 099 Low\r\n\r\n" + $0 }
            return try? await peer.finish()
        } client: {
            await Client.failure(at: $0) { _ in }
        }
        #expect(refusal == .relayMisbehaved("it does not speak HTTP"))
    }

    @Test("A response head is limited to 16 KiB; bytes behind it are not counted")
    func longHeads() async throws {
        for (excess, isTaken) in [(0, true), (1, false)] {
            let (_, refusal) = try await ScriptedRelay.run { peer in
                try await peer.answer(then: Wire.frame([UInt8](repeating: 7, count: 40_000))) { answer in
                    let field = "X-Filler: "
                    let room = HeadEndDetector.maximumBytes + excess - answer.utf8.count - field.utf8.count - 2
                    // The empty line is one character.
                    return String(answer.dropLast(1)) + field + String(repeating: "x", count: room) + "\r\n\r\n"
                }
                return try? await peer.finish()
            } client: {
                await Client.failure(at: $0) { tunnel in
                    let message = try await tunnel.next()
                    #expect(message.count == 40_000)
                }
            }
            #expect(refusal == (isTaken ? nil : .relayMisbehaved("its answer is longer than 16 KiB")))
        }
    }
}
