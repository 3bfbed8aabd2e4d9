// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridBLEAdvert
import HybridCaBLE
import HybridDataChannel
import HybridNetwork
import HybridPrimitives
import HybridRelayCore
import HybridThreads
import HybridVirtualBlueZ
import IntegrationTestSupport
import NIOCore
import NetworkTestSupport
import TestSupport
import Testing

@testable import HybridSession

/// A virtual radio and a relay for two sessions in the test process.
private struct TransferPlace: Sendable {
    let radio: TestRadio
    let relay: RelayEndpoint
    /// The flags with which a counterpart reaches the relay.
    private let flags: [String]

    static func run(_ body: @Sendable (TransferPlace) async throws -> Void) async throws {
        let files = try await TestCertificates.shared()
        let tls = try RelayCertificate.context(certificateFile: files.certificate(.relay), keyFile: files.key(.relay))
        try await TestRadio.run { radio in
            try await TestRelay.run(transport: .tls(tls)) { _, address in
                let port = try #require(address.port)
                let domain = try #require(TestCertificates.domain)
                let network = try await ScriptedServer.network(host: "127.0.0.1", port: port)
                let relay = RelayEndpoint(domain: domain, network: network)
                let flags = ["--relay", "127.0.0.1:\(port)", "--ca", files.authority]
                try await body(TransferPlace(radio: radio, relay: relay, flags: flags))
            }
        }
    }

    /// Runs `body` with a radio of this place, and closes it.
    private func withRadio<Outcome: Sendable>(
        _ role: BluetoothRadio.Role,
        _ body: @Sendable (BluetoothRadio) async throws -> Outcome
    ) async throws -> Outcome {
        let opened = try await BluetoothRadio.open(adapter: nil, for: role, on: radio.bus.busAddress)
        return try await withCleanup {
            await opened.close()
        } of: {
            try await body(opened)
        }
    }

    func give<Outcome: Sendable>(
        to code: TransferCode,
        timeouts: AuthenticatorTimeouts = AuthenticatorTimeouts(),
        events: @escaping @Sendable (AuthenticatorEvent) -> Void = { _ in },
        _ body: @escaping @Sendable (TransferChannel) async throws -> Outcome
    ) async throws -> Outcome {
        try await withRadio(.advertiser) { opened in
            try await AuthenticatorSession(radio: opened, relay: relay, timeouts: timeouts)
                .give(to: code, events: events, body)
        }
    }

    func receive<Outcome: Sendable>(
        _ purpose: TransferPurpose = .give,
        _ timeouts: ClientTimeouts = ClientTimeouts(),
        events: @escaping @Sendable (ClientEvent) -> Void,
        _ body: @escaping @Sendable (TransferChannel) async throws -> Outcome
    ) async throws -> Outcome {
        try await withRadio(.scanner) { opened in
            try await ClientSession(radio: opened, network: relay.network, timeouts: timeouts)
                .receive(for: purpose, events: events, body)
        }
    }

    /// Starts a counterpart in Python.
    func echo(_ role: String, in folder: String, input: String? = nil) throws -> RunningProgram {
        try RunningProgram(
            try Python.path(),
            [PackageFolder.path + "/Tests/Counterparts/transfer_echo.py", role] + flags,
            in: folder,
            environment: SpawnedProcess.environment.merging([
                "DBUS_SYSTEM_BUS_ADDRESS": radio.bus.address, "PYTHONDONTWRITEBYTECODE": "1",
            ]) { $1 },
            input: input
        )
    }
}

/// The code of a receiver, as it appears on a screen.
private struct ReceiverScreen: Sendable {
    private let codes: AsyncStream<TransferCode>
    private let continuation: AsyncStream<TransferCode>.Continuation

    init() { (codes, continuation) = AsyncStream.makeStream() }

    @Sendable func show(_ event: ClientEvent) {
        if case .transferCodeReady(let code) = event { continuation.yield(code) }
    }

    /// Reads the code as a camera does.
    func code() async throws -> TransferCode {
        let shown = try #require(await codes.first { _ in true })
        return try TransferCode(line: shown.text)
    }
}

/// Sends each object back until the other end leaves; returns the hash.
private func echo(_ channel: TransferChannel) async throws -> HandshakeHash {
    while true {
        let frame: TransferFrame
        do {
            frame = try await channel.receive(within: .seconds(60))
        } catch let error as AuthenticatorSessionFailure where error == .receiverLeft {
            return channel.handshakeHash
        } catch let error as ClientFailure where error == .giverLeft {
            return channel.handshakeHash
        }
        try await channel.send(frame)
    }
}

/// Sends objects, as Python would write them, and compares the answers; returns the hash.
private func ask(_ channel: TransferChannel) async throws -> HandshakeHash {
    for length in [1, 600, 300_000] {
        let text = String(repeating: "x", count: length)
        let frame = try TransferFrame(padding: Array(#"{"text":"\#(text)"}"#.utf8))
        try await channel.send(frame)
        let answer = try await channel.receive(within: .seconds(60))
        #expect(answer == frame)
    }
    return channel.handshakeHash
}

@Suite("Transfers through a relay, with a virtual radio", .timeLimit(.minutes(10)))
struct TransferSessionTests {
    @Test("Both ends have the same hash, and objects travel both ways", arguments: TransferPurpose.allCases)
    func exchange(purpose: TransferPurpose) async throws {
        try await TransferPlace.run { place in
            let screen = ReceiverScreen()
            let events = Locked<[String]>([])
            async let received = place.receive(purpose, events: screen.show, ask)
            let code = try await screen.code()
            #expect(code.purpose == purpose && code.channels == [.webSocket] && code.created != nil)
            let given = try await place.give(to: code) { event in
                events.withLock { $0.append("\(event)".split(separator: "(").first.map(String.init) ?? "") }
            } _: { channel in
                #expect(channel.kind == .webSocket)
                return try await echo(channel)
            }
            let hash = try await received
            #expect(hash == given)
            #expect(events.withLock { $0 } == ["tunnelOpen", "advertising", "clientVerified"])
            let adverts = try await place.radio.control.activeAdverts()
            #expect(adverts.isEmpty, "the advert is withdrawn")
        }
    }

    @Test("An error of one side is its own, and the other side learns that it has left", arguments: [true, false])
    func failingSide(isGiver: Bool) async throws {
        struct Own: Error {}
        try await TransferPlace.run { place in
            let screen = ReceiverScreen()
            let receiver = Task {
                try await place.receive(events: screen.show) { channel in
                    guard isGiver else { throw Own() }
                    _ = try await channel.receive(within: nil)
                }
            }
            let code = try await screen.code()
            let giver = Task {
                try await place.give(to: code) { channel in
                    guard !isGiver else { throw Own() }
                    _ = try await channel.receive(within: nil)
                }
            }
            await #expect(throws: Own.self) { try await (isGiver ? giver : receiver).value }
            if isGiver {
                await #expect(throws: ClientFailure.giverLeft) { try await receiver.value }
            } else {
                await #expect(throws: AuthenticatorSessionFailure.receiverLeft) { try await giver.value }
            }
        }
    }

    @Test("A stranger who scans the code first is alone with the receiver, and the user's device meets no receiver")
    func stranger() async throws {
        try await TransferPlace.run { place in
            let screen = ReceiverScreen()
            let (met, done) = (Signal(), Signal())
            async let received = place.receive(events: screen.show) { channel in
                met.fire()
                await done.wait()
                return channel.handshakeHash
            }
            let code = try await screen.code()
            async let strange = place.give(to: code) { channel in
                await done.wait()
                return channel.handshakeHash
            }
            await met.wait()
            var timeouts = AuthenticatorTimeouts()
            timeouts.untilClient = .milliseconds(200)
            let users = Task { [timeouts] in
                try await place.give(to: code, timeouts: timeouts) { _ in Issue.record("a receiver was met") }
            }
            await #expect(throws: AuthenticatorSessionFailure.noReceiver) { try await users.value }
            done.fire()
            let hash = try await received
            let other = try await strange
            #expect(other == hash)
        }
    }

    @Test("A device that has the code but did not receive the advert gets no byte")
    func withoutAdvert() async throws {
        try await TransferPlace.run { place in
            let key = P256.KeyAgreement.PrivateKey()
            let code = TransferCode(receiverKey: key.publicKey, secret: .random(), created: 1, purpose: .give)
            let keys = code.keys
            let giver = Task { try await place.give(to: code) { _ in Issue.record("a stranger was met") } }
            var heard: EID?
            try await Waiting.until("an advert") {
                for text in try await place.radio.control.activeAdverts() {
                    let advert = Hexadecimal.bytes(text).flatMap { Advert(serviceData: $0) }
                    heard = advert.flatMap { EID.open($0, with: keys.eidKey) } ?? heard
                }
                return heard != nil
            }
            let eid = try #require(heard)
            var generator = SystemRandomNumberGenerator()
            // The routing ID and the domain are known to the relay; the nonce is only on the air.
            let guessed = EID(routingID: eid.routingID, domain: try #require(eid.domain), using: &generator)
            let message = try keys.initiatorHandshake(key, guessed, ephemeral: P256.KeyAgreement.PrivateKey()).message1
            let path = TunnelPath.connect(eid.routingID, keys.tunnelID)
            await #expect(throws: TunnelError.self) {
                try await WebSocketTunnel.withTunnel(path, at: place.relay) { tunnel in
                    try await tunnel.send(WireMessage(bytes: message.bytes))
                    _ = try await tunnel.receive { $0 }
                }
            }
            await #expect(throws: AuthenticatorSessionFailure.notVerified) { try await giver.value }
        }
    }

    @Test("Without a giver nearby, the sentence is about a giver")
    func noGiver() async throws {
        try await TransferPlace.run { place in
            var timeouts = ClientTimeouts()
            timeouts.untilPhoneFound = .milliseconds(100)
            let receiver = Task { [timeouts] in
                try await place.receive(.give, timeouts, events: { _ in }, { _ in Issue.record("a giver was met") })
            }
            await #expect(throws: ClientFailure.giverNotNearby) { try await receiver.value }
        }
    }

    @Test("A receiver in Python understands the giver")
    func foreignReceiver() async throws {
        try await TransferPlace.run { place in
            try await TestFolder.with { folder in
                let receiver = try place.echo("receive", in: folder.path)
                let code = try TransferCode(line: await receiver.line { $0.hasPrefix("HYBRID:/") })
                let hash = try await place.give(to: code, echo)
                let ending = try await receiver.ending()
                #expect(ending.status == 0 && ending.output.contains(Hexadecimal.text(hash.bytes)), "\(ending)")
            }
        }
    }

    @Test("A giver in Python understands the receiver")
    func foreignGiver() async throws {
        try await TransferPlace.run { place in
            try await TestFolder.with { folder in
                let screen = ReceiverScreen()
                async let received = place.receive(events: screen.show, ask)
                let giver = try place.echo("give", in: folder.path, input: try await screen.code().text + "\n")
                let hash = try await received
                let ending = try await giver.ending()
                #expect(ending.status == 0 && ending.output.contains(Hexadecimal.text(hash.bytes)), "\(ending)")
            }
        }
    }
}
