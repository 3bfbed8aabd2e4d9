// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Glibc
import HybridBLEAdvert
import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import Synchronization
import TestSupport
import Testing

@testable import HybridSession

@Suite("Accepting clients over L2CAP", .timeLimit(.minutes(10)))
struct L2CAPAcceptorTests {
    private static var info: AuthenticatorInfo {
        get throws {
            let aaguid = try #require(AAGUID(bytes: [UInt8](repeating: 0, count: 16)))
            return AuthenticatorInfo(
                versions: ["FIDO_2_0"],
                aaguid: aaguid,
                options: ["rk": true],
                transports: ["hybrid"]
            )
        }
    }

    @Test("A client that received the advert is served as through a relay")
    func served() async throws {
        let fixture = try L2CAPFixture()
        defer { fixture.acceptingSocket.remove() }
        let info = try Self.info
        async let serving = fixture.serve(info)
        let channel = try fixture.channel()
        let phone = try await fixture.client().performHandshake(over: channel, .seconds(30)).receiveInfo(.seconds(30))
        #expect(phone.info.versions == info.versions)
        let served = try await serving
        try await phone.channel.send(.ctap([4]))
        guard case .ctap(let payload) = try await served.channel.receive() else {
            Issue.record("not a request")
            return
        }
        #expect(payload == [4])
        await channel.close()
    }

    @Test("Unauthenticated peers get no byte and end nothing")
    func unauthenticated() async throws {
        let fixture = try L2CAPFixture()
        defer { fixture.acceptingSocket.remove() }
        let info = try Self.info
        async let serving = fixture.serve(info)
        // More than may be connected at the same time; each is disconnected.
        var random = SeededGenerator()
        for _ in 0..<8 {
            let invalid = try fixture.channel()
            let message = WireMessage(bytes: random.bytes(81))
            await #expect(throws: TunnelError.self) {
                try await invalid.send(message)
                _ = try await invalid.receive { $0 }
            }
            await invalid.close()
        }
        let silent = try fixture.channel()
        let domain = try #require(TunnelDomain(id: 266))
        let other = EID(routingID: RoutingID(node: 0, check: 0), domain: domain, using: &random)
        let mismatched = try fixture.channel()
        await #expect(throws: TunnelError.self) {
            try await fixture.client(receiving: other).performHandshake(over: mismatched, .seconds(30))
        }
        let channel = try fixture.channel()
        _ = try await fixture.client().performHandshake(over: channel, .seconds(30)).receiveInfo(.seconds(30))
        _ = try await serving
        // The silent peer is disconnected after another client has verified.
        await #expect(throws: TunnelError.self) { try await silent.receive { $0 } }
        await channel.close()
    }

    @Test("The number of unauthenticated peers is limited")
    func tooMany() async throws {
        let fixture = try L2CAPFixture()
        defer { fixture.acceptingSocket.remove() }
        async let verified = fixture.pending.awaitClient { _ in }
        for _ in 0..<L2CAPAcceptor.maximumConnections {
            let peer = try fixture.channel()
            // On a busy computer, the acceptor may have disconnected the peer before its message.
            await #expect(throws: TunnelError.self) {
                try await peer.send(WireMessage(bytes: [UInt8](repeating: 4, count: 81)))
                _ = try await peer.receive { $0 }
            }
        }
        do {
            _ = try await verified
            Issue.record("an unauthenticated peer was served")
        } catch {
            #expect(error as? AuthenticatorSessionFailure == .notVerified)
        }
        // Further peers are rejected at once and fall back to the relay.
        try await Waiting.until("a closed socket") { !fixture.acceptingSocket.isAccepting }
    }

    @Test("A peer that accepts no bytes times out like one that sends none", .timeLimit(.minutes(5)))
    func acceptsNothing() async throws {
        let fixture = try L2CAPFixture()
        defer { fixture.acceptingSocket.remove() }
        let descriptor = try fixture.acceptingSocket.connect()
        // Fill the kernel's buffer, because the other end reads nothing.
        let packet = [UInt8](repeating: 0, count: 672)
        while send(descriptor, packet, packet.count, CInt(MSG_NOSIGNAL)) > 0 {}
        let channel = L2CAPChannel(adopting: descriptor, largestPacket: 672)
        await #expect(throws: ClientFailure.phoneSilent) {
            try await fixture.client().performHandshake(over: channel, .milliseconds(200))
        }
        await channel.close()
    }

    @Test("A silent peer is disconnected after a time")
    func silent() async throws {
        var fixture = try L2CAPFixture()
        defer { fixture.acceptingSocket.remove() }
        fixture.pending.firstMessageTimeout = .milliseconds(50)
        let waiting = Task { [pending = fixture.pending] in try await pending.awaitClient { _ in } }
        let silent = try fixture.channel()
        await #expect(throws: TunnelError.closed(code: 1000)) { try await silent.receive { $0 } }
        waiting.cancel()
    }

    @Test("A client that disconnects during the handshake is reported as silent")
    func leaves() async throws {
        let fixture = try L2CAPFixture()
        defer { fixture.acceptingSocket.remove() }
        let channel = try fixture.channel()
        let leaving = Task {
            try? await fixture.client().performHandshake(over: channel, .seconds(60))
        }
        let verified = try await fixture.pending.awaitClient { _ in }
        leaving.cancel()
        _ = await leaving.value
        await channel.close()
        await #expect(throws: AuthenticatorSessionFailure.clientSilent) {
            // The end of the link is noticed with a delay.
            while true { _ = try await verified.completeHandshake(Self.info) }
        }
    }

    @Test("Cancellation ends the wait for clients")
    func cancelled() async throws {
        let fixture = try L2CAPFixture()
        defer { fixture.acceptingSocket.remove() }
        let waiting = Task { try await fixture.pending.awaitClient { _ in } }
        let silent = try fixture.channel()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        fixture.acceptingSocket.socket.close()
        await #expect(throws: TunnelError.self) { try await silent.receive { $0 } }
    }

    @Test("Without an L2CAP route the client reports the reason and falls back to the relay")
    func fallsBack() async throws {
        let fixture = try L2CAPFixture()
        defer { fixture.acceptingSocket.remove() }
        let reasons = Mutex([String]())
        let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let nearby = NearbyPhone(
            keys: fixture.pending.keys,
            clientKey: key,
            offersLinking: false,
            eid: fixture.pending.eid,
            l2capRoute: .failure(.addressUnknown)
        )
        let connected = try await nearby.connectByRadio(ClientTimeouts()) { event in
            if case .radioChannelFailed(let failure) = event { reasons.withLock { $0.append(failure.reason) } }
        }
        #expect(connected == nil)
        #expect(reasons.withLock { $0 } == [L2CAPError.addressUnknown.reason])
        // Without a PSM in the advert, nothing is tried or reported.
        #expect(
            try await fixture.client().connectByRadio(ClientTimeouts()) { _ in Issue.record("no event is expected") }
                == nil
        )
    }
}
