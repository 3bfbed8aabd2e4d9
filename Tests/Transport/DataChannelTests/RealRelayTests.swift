// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCaBLE
import HybridPrimitives
import HybridRelayCore
import IntegrationTestSupport
import Logging
import NIOCore
import NetworkTestSupport
import TestSupport
import Testing

@testable import HybridDataChannel

@Suite("Two tunnels through a real relay", .timeLimit(.minutes(5)))
struct RealRelayTests {
    @Test("carry 1,000 messages of random sizes each way, in order")
    func manyMessages() async throws {
        try await Self.meet { phone in
            try await Self.exchange(phone, seed: 1)
        } client: { client in
            try await Self.exchange(client, seed: 2)
        }
    }

    @Test("report the close code of the other end")
    func closeCode() async throws {
        try await Self.meet { phone in
            let first = try await phone.next()
            #expect(first == [1])
            await #expect(throws: TunnelError.closed(code: 1000)) { try await phone.next() }
        } client: { client in
            try await client.send(WireMessage(bytes: [1]))
        }
    }

    @Test("report that the other end was cut off")
    func cutOff() async throws {
        try await Self.meet { phone in
            let first = try await phone.next()
            #expect(first == [1])
            await phone.abort()
            await #expect(throws: TunnelError.self) { try await phone.send(WireMessage(bytes: [2])) }
        } client: { client in
            try await client.send(WireMessage(bytes: [1]))
            await #expect(throws: TunnelError.closed(code: 1001)) { try await client.next() }
        }
    }

    @Test("cannot be joined with another ID")
    func notFound() async throws {
        try await Self.relay { endpoint in
            let path = TunnelPath.connect(RoutingID(node: 0x00AB, check: 1), .test)
            #expect(await Client.refusal(at: endpoint, path) == .tunnelNotFound)
        }
    }

    @Test("carry a handshake and sealed messages of every kind both ways")
    func sealed() async throws {
        let secrets = try SharedSecrets()
        try await Self.meet { tunnel in
            let phone = try await secrets.phone(tunnel)
            try await phone.send(PostHandshakeMessage(info: [0xA0]))
            guard case .ctap(let request) = try await phone.receive() else { throw Unexpected() }
            #expect(request == [4])
            try await phone.send(.ctap([0] + [UInt8](repeating: 9, count: 70_000)))
            try await phone.send(.update(nil))
            guard case .shutdown = try await phone.receive() else { throw Unexpected() }
        } client: { tunnel in
            let client = try await secrets.client(tunnel)
            #expect(try await client.receivePostHandshake().info == [0xA0])
            try await client.send(.ctap([4]))
            guard case .ctap(let response) = try await client.receive() else { throw Unexpected() }
            #expect(response.count == 70_001)
            guard case .update(nil) = try await client.receive() else { throw Unexpected() }
            try await client.send(.shutdown)
        }
    }

    @Test(
        "reject sealed messages that are replayed, changed, cut or swapped",
        arguments: Tampering.Kind.allCases
    )
    func tampered(kind: Tampering.Kind) async throws {
        let secrets = try SharedSecrets()
        try await Self.meet { tunnel in
            let phone = try await secrets.phone(tunnel) { Tampering(kind: kind, over: $0) }
            // This end learns that the client has closed, perhaps before it has sent the last message.
            await #expect(throws: TunnelError.self) {
                for number: UInt8 in 1...3 { try await phone.send(.ctap([number])) }
                _ = try await phone.receive()
            }
        } client: { tunnel in
            let client = try await secrets.client(tunnel)
            guard case .ctap(let first) = try await client.receive() else { throw Unexpected() }
            #expect(first == [1])
            await #expect(throws: TunnelError.messageRefused) { try await client.receive() }
        }
    }

    private struct Unexpected: Error {}

    /// Sends and receives in parallel; both ends derive the same sizes from the seeds.
    private static func exchange(_ tunnel: WebSocketTunnel, seed: UInt64) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var random = SeededGenerator(seed: seed)
                for _ in 0..<1_000 { try await tunnel.send(WireMessage(bytes: message(&random))) }
            }
            group.addTask {
                var random = SeededGenerator(seed: 3 - seed)
                for number in 0..<1_000 {
                    try #require(try await tunnel.next() == message(&random), "message \(number)")
                }
            }
            try await group.waitForAll()
        }
        // An end that closed first would discard the last messages of the other.
        try await tunnel.send(WireMessage(bytes: Array("done".utf8)))
        #expect(try await tunnel.next() == Array("done".utf8))
    }

    private static func message(_ random: inout SeededGenerator) -> [UInt8] {
        // Mostly short, sometimes beyond the lengths at which frames change their form.
        let limit = random.number(0...19) == 0 ? 70_000 : random.number(0...1) == 0 ? 2_000 : 140
        return random.bytes(random.number(0...limit))
    }

    static func relay(
        tokens: TunnelTokens? = nil,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: (RelayEndpoint) async throws -> Void
    ) async throws {
        let files = try await TestCertificates.shared()
        let tls = try RelayCertificate.context(
            certificateFile: files.certificate(.relay),
            keyFile: files.key(.relay)
        )
        let configure: (inout RelayConfiguration) -> Void = { $0.tokens = tokens }
        try await TestRelay.run(
            transport: .tls(tls),
            limits: .testing { $0.tunnelBytes = 256 << 20 },
            logger: logger,
            configure: configure
        ) { _, address in
            try await body(try await ScriptedRelay.endpoint(port: try #require(address.port)))
        }
    }

    /// Runs both ends of one tunnel.
    private static func meet(
        phone: @escaping @Sendable (WebSocketTunnel) async throws -> Void,
        client: @escaping @Sendable (WebSocketTunnel) async throws -> Void
    ) async throws {
        try await relay { endpoint in
            let (routing, continuation) = AsyncStream.makeStream(of: RoutingID.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await WebSocketTunnel.withTunnel(.new(.test), at: endpoint) { tunnel in
                        continuation.yield(try #require(tunnel.routingID))
                        try await phone(tunnel)
                    }
                }
                group.addTask {
                    let id = try #require(await routing.first { _ in true })
                    try await WebSocketTunnel.withTunnel(.connect(id, .test), at: endpoint, client)
                }
                try await group.waitForAll()
            }
        }
    }
}

/// The secrets that code and advert give to both ends.
private struct SharedSecrets {
    private let key = P256.KeyAgreement.PrivateKey()
    private let psk: PSK

    init() throws {
        let secret = try #require(QRSecret(bytes: [UInt8](repeating: 3, count: 16)))
        let domain = try #require(TestCertificates.domain)
        let eid = EID(nonce: [UInt8](repeating: 1, count: 10), routingID: RoutingID(node: 1, check: 2), domain: domain)
        psk = secret.psk(for: try #require(eid))
    }

    func client(_ tunnel: WebSocketTunnel) async throws -> EncryptedChannel {
        let handshake = try InitiatorHandshake(clientKey: key, psk: psk, ephemeral: P256.KeyAgreement.PrivateKey())
        try await tunnel.send(WireMessage(bytes: handshake.message1.bytes))
        let answer = try await tunnel.receive { HandshakeMessage(bytes: $0.bytes) }
        return EncryptedChannel(over: tunnel, keys: try handshake.finish(answer))
    }

    func phone(
        _ tunnel: WebSocketTunnel,
        through wrap: (WebSocketTunnel) -> any MessageChannel = { $0 }
    ) async throws -> EncryptedChannel {
        let message1 = try await tunnel.receive { HandshakeMessage(bytes: $0.bytes) }
        let answer = try ResponderHandshake(
            clientKey: key.publicKey,
            psk: psk,
            ephemeral: P256.KeyAgreement.PrivateKey()
        ).answer(message1)
        try await tunnel.send(WireMessage(bytes: answer.message2.bytes))
        return EncryptedChannel(over: wrap(tunnel), keys: answer.takeKeys())
    }
}

/// A channel that forwards the first message and tampers with the others.
struct Tampering: MessageChannel {
    enum Kind: String, CaseIterable {
        case replay
        case flippedBit
        case cut
        case longer
        case empty
        case swapped
    }

    let kind: Kind
    let over: any MessageChannel
    private let history = History()

    init(kind: Kind, over: any MessageChannel) { (self.kind, self.over) = (kind, over) }

    func send(_ message: WireMessage) async throws {
        let (number, earlier) = await history.record(message)
        guard number > 1 else { return try await over.send(message) }
        var bytes = message.bytes
        switch kind {
        case .replay: bytes = earlier.bytes
        case .flippedBit: bytes[bytes.count / 2] ^= 1
        case .cut: bytes.removeLast()
        case .longer: bytes.append(0)
        case .empty: bytes = []
        case .swapped: if number == 2 { return }
        }
        try await over.send(WireMessage(bytes: bytes))
    }

    func receive<Accepted: Sendable>(accept: @Sendable (WireMessage) -> Accepted?) async throws -> Accepted {
        try await over.receive(accept: accept)
    }

    private actor History {
        private var messages: [WireMessage] = []

        func record(_ message: WireMessage) -> (number: Int, earlier: WireMessage) {
            messages.append(message)
            return (messages.count, messages[0])
        }
    }
}
