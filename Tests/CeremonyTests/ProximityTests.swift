// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import HybridNetwork
import HybridPrimitives
import HybridVirtualBlueZ
import TestSupport
import Testing

/// A client without proof of proximity gets no response, and causes no prompt and no change.
@Suite("Proximity", .keepsEvidence, .serialized)
struct ProximityTests {
    /// A client inside the test, so that it can misbehave.
    private struct TestClient {
        let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let offer: QROffer

        init() { offer = .random(key: key.publicKey) }

        /// Waits for an advert that the code's key opens.
        func receiveAdvert(_ environment: CeremonyEnvironment) async throws -> EID {
            var eid: EID?
            try await Waiting.until("an advert") {
                for text in try await environment.air.activeAdverts() {
                    guard let bytes = Hexadecimal.bytes(text), let advert = Advert(serviceData: bytes) else { continue }
                    eid = EID.open(advert, with: offer.secret.eidKey) ?? eid
                }
                return eid != nil
            }
            guard let eid else { throw RunningProgram.TimedOut(description: "no advert") }
            return eid
        }

        func join<Result: Sendable>(
            _ environment: CeremonyEnvironment,
            _ routing: RoutingID,
            _ body: @Sendable (WebSocketTunnel) async throws -> Result
        ) async throws -> Result {
            guard let domain = TunnelDomain(id: UInt16(CeremonyEnvironment.domain)) else { throw CancellationError() }
            let relay = RelayEndpoint(
                domain: domain,
                network: NetworkConfiguration(
                    connectTo: [ConnectTo("\(domain.host):443:127.0.0.1:\(environment.relay.port)")].compactMap(\.self),
                    trustedCertificates: environment.folder + "/ca.pem"
                )
            )
            return try await WebSocketTunnel.withTunnel(.connect(routing, offer.secret.tunnelID), at: relay, body)
        }
    }

    /// Sends a handshake message and returns the response, or `nil` if the tunnel closes.
    private static func answer(to message: [UInt8], on tunnel: WebSocketTunnel) async throws -> WireMessage? {
        try await tunnel.send(WireMessage(bytes: message))
        do {
            return try await tunnel.receive { $0 }
        } catch is TunnelError {
            return nil
        }
    }

    /// Runs `body` with an existing vault, so that only a client can cause prompts.
    private static func prepared(_ body: @Sendable (CeremonyEnvironment) async throws -> Void) async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            try FileManager.default.removeItem(atPath: environment.folder + "/pinentry.log")
            try await body(environment)
        }
    }

    @Test("a client that has the code but not the advert gets no byte, and causes no prompt")
    func withoutAdvert() async throws {
        try await Self.prepared { environment in
            let before = environment.vaultContents()
            let client = TestClient()
            let phone = try environment.startAuthenticator(client.offer.text)
            let eid = try await client.receiveAdvert(environment)
            var generator = SystemRandomNumberGenerator()
            // The advert without its nonce is what an eavesdropper at the relay can know.
            let guessed = EID(routingID: eid.routingID, domain: try #require(eid.domain), using: &generator)
            let handshake = try InitiatorHandshake(
                clientKey: client.key,
                psk: client.offer.secret.psk(for: guessed),
                ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
            )
            let message = handshake.message1.bytes
            let answer = try await client.join(environment, eid.routingID) {
                try await Self.answer(to: message, on: $0)
            }
            #expect(answer == nil)
            let ending = try await phone.ending()
            #expect(ending.status == 65 && ending.lastLine.contains("nothing was answered"), "\(ending)")
            #expect(environment.pinentryLog.isEmpty)
            #expect(environment.vaultContents() == before)
            try await environment.untilNoAdverts()
        }
    }

    @Test("an earlier advert does not open a later tunnel of the same code")
    func replayed() async throws {
        try await Self.prepared { environment in
            let client = TestClient()
            let first = try environment.startAuthenticator(client.offer.text)
            let old = try await client.receiveAdvert(environment)
            first.send(SIGKILL)
            _ = try await first.ending()
            try await environment.untilNoAdverts()

            let second = try environment.startAuthenticator(client.offer.text)
            let new = try await client.receiveAdvert(environment)
            let handshake = try InitiatorHandshake(
                clientKey: client.key,
                psk: client.offer.secret.psk(for: old),
                ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
            )
            let message = handshake.message1.bytes
            let answer = try await client.join(environment, new.routingID) {
                try await Self.answer(to: message, on: $0)
            }
            #expect(answer == nil)
            #expect(try await second.ending().status == 65)
            #expect(environment.pinentryLog.isEmpty)
            try await environment.untilNoAdverts()
        }
    }

    @Test("a client that receives an old advert of its code finds no tunnel")
    func replayedAtTestClient() async throws {
        try await Self.prepared { environment in
            let (client, code) = try await environment.startClient(try await environment.site("request-options"))
            let offer = try QROffer(parsing: code)
            var generator = SystemRandomNumberGenerator()
            let domain = try #require(TunnelDomain(id: UInt16(CeremonyEnvironment.domain)))
            let stale = EID(routingID: RoutingID(node: 0, check: 1), domain: domain, using: &generator)
            _ = try await environment.air.inject(stale.sealed(with: offer.secret.eidKey).bytes)
            let ending = try await client.ending()
            #expect(ending.status == 75 && ending.lastLine.contains("does not know the tunnel"), "\(ending)")
            #expect(ending.output.isEmpty)
        }
    }

    @Test("a second handshake in a tunnel closes it, without a byte or a prompt")
    func secondHandshake() async throws {
        try await Self.prepared { environment in
            let client = TestClient()
            let phone = try environment.startAuthenticator(client.offer.text)
            let eid = try await client.receiveAdvert(environment)
            let handshake = try InitiatorHandshake(
                clientKey: client.key,
                psk: client.offer.secret.psk(for: eid),
                ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
            )
            let message = handshake.message1.bytes
            let more = try await client.join(environment, eid.routingID) { tunnel in
                let message2 = try await Self.answer(to: message, on: tunnel)
                #expect(message2?.bytes.count == HandshakeMessage.length)
                _ = try await tunnel.receive { $0 }
                return try await Self.answer(to: message, on: tunnel)
            }
            #expect(more == nil)
            #expect(try await phone.ending().status == 65)
            #expect(environment.pinentryLog.isEmpty)
            try await environment.untilNoAdverts()
        }
    }

    @Test("an authenticator that is killed leaves no advert on the air")
    func killed() async throws {
        try await Self.prepared { environment in
            for signal in [SIGKILL, SIGINT, SIGTERM] {
                let client = TestClient()
                let phone = try environment.startAuthenticator(client.offer.text)
                _ = try await client.receiveAdvert(environment)
                phone.send(signal)
                try await environment.untilNoAdverts()
                let status = try await phone.ending().status
                #expect(status == (signal == SIGKILL ? 137 : 130))
            }
        }
    }
}
