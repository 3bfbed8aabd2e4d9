// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import HybridVirtualBlueZ
import TestSupport
import Testing

/// Who was not there gets nothing: no byte, no question, no change.
@Suite("Proximity", .keepsEvidence, .serialized)
struct ProximityTests {
    /// A desktop of the test's own, so that it can misbehave.
    private struct Desktop {
        let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let offer: QROffer

        init() {
            var generator = SystemRandomNumberGenerator()
            offer = QROffer(
                clientKey: key.publicKey,
                secret: QRSecret(using: &generator),
                created: 1_700_000_000,
                hint: .getAssertion
            )
        }

        /// The advert on the air that this code's key opens.
        func hear(_ stage: Stage) async throws -> EID {
            var heard: EID?
            try await Waiting.until("an advert", within: .seconds(60)) {
                for text in try await stage.air.activeAdverts() {
                    guard let bytes = bytes(text), let advert = Advert(serviceData: bytes) else { continue }
                    heard = EID.open(advert, with: offer.secret.eidKey) ?? heard
                }
                return heard != nil
            }
            guard let heard else { throw RunningProgram.TimedOut(description: "no advert") }
            return heard
        }

        func join<Result: Sendable>(
            _ stage: Stage,
            _ routing: RoutingID,
            _ body: @Sendable (WebSocketTunnel) async throws -> Result
        ) async throws -> Result {
            guard let domain = TunnelDomain(id: UInt16(Stage.domain)) else { throw CancellationError() }
            let location = RelayEndpoint(
                domain: domain,
                detours: [ConnectTo("\(domain.host):443:127.0.0.1:\(stage.relayPort)")].compactMap(\.self),
                trustedCertificates: stage.folder + "/ca.pem"
            )
            return try await WebSocketTunnel.withTunnel(
                .connect(routing, offer.secret.tunnelID),
                at: location,
                body
            )
        }

        private func bytes(_ hex: String) -> [UInt8]? {
            let digits = Array(hex.utf8)
            guard digits.count % 2 == 0 else { return nil }
            return stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
            }
        }
    }

    /// Sends a first message and reports whether anything at all came back.
    private static func answer(to message: [UInt8], on tunnel: WebSocketTunnel) async throws -> WireMessage? {
        try await tunnel.send(WireMessage(bytes: message))
        do {
            return try await tunnel.receive { $0 }
        } catch is TunnelError {
            return nil
        }
    }

    /// A vault that exists, so that the only questions left are those a client causes.
    private static func preparedStage(_ body: @Sendable (Stage) async throws -> Void) async throws {
        try await Stage.set { stage in
            try await stage.register(RelyingParty(stage))
            try FileManager.default.removeItem(atPath: stage.folder + "/pinentry.log")
            try await body(stage)
        }
    }

    @Test("who has the code but did not hear the advert gets no byte, and the user no question")
    func notHeard() async throws {
        try await Self.preparedStage { stage in
            let before = stage.snapshot(of: stage.vault)
            let desktop = Desktop()
            let phone = try stage.startAuthenticator(desktop.offer.text)
            let heard = try await desktop.hear(stage)
            var generator = SystemRandomNumberGenerator()
            // All of the advert but its nonce: what an eavesdropper on the relay could know.
            let guessed = EID(routingID: heard.routingID, domain: try #require(heard.domain), using: &generator)
            let handshake = try InitiatorHandshake(
                clientKey: desktop.key,
                psk: desktop.offer.secret.psk(heard: guessed),
                ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
            )
            let message = handshake.message1.bytes
            let answer = try await desktop.join(stage, heard.routingID) { try await Self.answer(to: message, on: $0) }
            #expect(answer == nil)
            let ending = try await phone.ending(within: .seconds(60))
            #expect(ending.status == 65 && ending.lastLine.contains("nothing was answered"), "\(ending)")
            #expect(Person.log(stage).isEmpty)
            #expect(stage.snapshot(of: stage.vault) == before)
            try await stage.expectSilence()
        }
    }

    @Test("an advert heard earlier does not open a later tunnel of the same code")
    func replayed() async throws {
        try await Self.preparedStage { stage in
            let desktop = Desktop()
            let first = try stage.startAuthenticator(desktop.offer.text)
            let old = try await desktop.hear(stage)
            first.send(SIGKILL)
            _ = try await first.ending(within: .seconds(60))
            try await stage.expectSilence()

            let second = try stage.startAuthenticator(desktop.offer.text)
            let new = try await desktop.hear(stage)
            let handshake = try InitiatorHandshake(
                clientKey: desktop.key,
                psk: desktop.offer.secret.psk(heard: old),
                ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
            )
            let message = handshake.message1.bytes
            let answer = try await desktop.join(stage, new.routingID) { try await Self.answer(to: message, on: $0) }
            #expect(answer == nil)
            #expect(try await second.ending(within: .seconds(60)).status == 65)
            #expect(Person.log(stage).isEmpty)
            try await stage.expectSilence()
        }
    }

    @Test("a desktop that hears an old advert of its code again finds no tunnel behind it")
    func replayedAtDesktop() async throws {
        try await Self.preparedStage { stage in
            let site = RelyingParty(stage)
            let (client, code) = try await stage.startClient(try await site.run("request-options"))
            let offer = try QROffer(parsing: code)
            var generator = SystemRandomNumberGenerator()
            let domain = try #require(TunnelDomain(id: UInt16(Stage.domain)))
            let stale = EID(routingID: RoutingID(node: 0, check: 1), domain: domain, using: &generator)
            _ = try await stage.air.inject(stale.sealed(with: offer.secret.eidKey).bytes)
            let ending = try await client.ending(within: .seconds(60))
            #expect(ending.status == 75 && ending.lastLine.contains("does not know the tunnel"), "\(ending)")
            #expect(ending.output.isEmpty)
        }
    }

    @Test("a second handshake on a tunnel that has had one ends it, without a byte or a question")
    func secondHandshake() async throws {
        try await Self.preparedStage { stage in
            let desktop = Desktop()
            let phone = try stage.startAuthenticator(desktop.offer.text)
            let heard = try await desktop.hear(stage)
            let handshake = try InitiatorHandshake(
                clientKey: desktop.key,
                psk: desktop.offer.secret.psk(heard: heard),
                ephemeral: P256.KeyAgreement.PrivateKey(compactRepresentable: false)
            )
            let message = handshake.message1.bytes
            let more = try await desktop.join(stage, heard.routingID) { tunnel in
                let message2 = try await Self.answer(to: message, on: tunnel)
                #expect(message2?.bytes.count == HandshakeMessage.length)
                _ = try await tunnel.receive { $0 }
                return try await Self.answer(to: message, on: tunnel)
            }
            #expect(more == nil)
            #expect(try await phone.ending(within: .seconds(60)).status == 65)
            #expect(Person.log(stage).isEmpty)
            try await stage.expectSilence()
        }
    }

    @Test("a phone that is killed leaves no advert on the air")
    func killed() async throws {
        try await Self.preparedStage { stage in
            for signal in [SIGKILL, SIGINT, SIGTERM] {
                let desktop = Desktop()
                let phone = try stage.startAuthenticator(desktop.offer.text)
                _ = try await desktop.hear(stage)
                phone.send(signal)
                try await stage.expectSilence()
                let status = try await phone.ending(within: .seconds(60)).status
                #expect(status == (signal == SIGKILL ? 137 : 130))
            }
        }
    }
}
