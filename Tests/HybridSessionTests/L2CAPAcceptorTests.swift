// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Glibc
import HybridBLEAdvert
import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import Synchronization
import TestSupport
import Testing

@testable import HybridSession

/// A listening socket that keeps packets apart, as the radio's do, and those who connect to it.
private struct Doorstep: Sendable {
    let listener: L2CAPListener
    private let path: String

    init() throws {
        path = NSTemporaryDirectory() + "door-\(UInt64.random(in: .min ... .max))"
        let number = Self.socket()
        var address = try Self.address(path)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(number >= 0 && bound == 0 && listen(number, 64) == 0)
        listener = L2CAPListener(adopting: number, psm: try #require(L2CAPPSM(0x80)), largestPacket: 672)
    }

    /// Somebody at the door.
    func visitor() throws -> CInt {
        let number = Self.socket()
        var address = try Self.address(path)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard connected == 0 else {
            let error = errno
            close(number)
            throw Refused(error: error)
        }
        return number
    }

    /// Whether anybody would be let wait.
    var isOpen: Bool {
        guard let number = try? visitor() else { return false }
        return close(number) == 0
    }

    struct Refused: Error { let error: CInt }

    func remove() { unlink(path) }

    private static func socket() -> CInt {
        let kind = CInt(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return Glibc.socket(AF_UNIX, kind, 0)
    }

    private static func address(_ path: String) throws -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        try #require(path.utf8.count < room)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return address
    }
}

/// Both ends of a ceremony before they met: the code, and the door at which the phone waits.
private struct Evening {
    let doorstep: Doorstep
    var doors: PendingClientConnection
    private let clientKey = P256.KeyAgreement.PrivateKey(compactRepresentable: false)

    init() throws {
        var random = SystemRandomNumberGenerator()
        let offer = QROffer(
            clientKey: clientKey.publicKey,
            secret: QRSecret(using: &random),
            created: 1_700_000_000,
            hint: .getAssertion,
            channels: [.webSocket, .l2cap]
        )
        doorstep = try Doorstep()
        let domain = try #require(TunnelDomain(id: 266))
        doors = PendingClientConnection(offer: offer, domain: domain, tunnel: nil, listener: doorstep.listener)
        // On a machine that is busy with other tests, too, nobody is late who is not meant to be.
        doors.patience = .seconds(60)
    }

    /// A client that heard the advert, or one that heard another.
    func client(hearing eid: EID? = nil) -> NearbyPhone {
        NearbyPhone(offer: doors.offer, clientKey: clientKey, eid: eid ?? doors.eid, byRadio: nil)
    }

    func channel() throws -> L2CAPChannel { L2CAPChannel(adopting: try doorstep.visitor(), largestPacket: 672) }

    /// The phone's side, up to the first request.
    func serve(_ info: AuthenticatorInfo) async throws -> ServedClient {
        let verified = try await doors.awaitClient { _ in }
        #expect(verified.road.kind == .l2cap)
        return try await verified.introduce(info)
    }
}

@Suite("The door for clients that come by radio", .timeLimit(.minutes(10)))
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

    @Test("A client that heard the advert is let in and talks as through a relay")
    func comesIn() async throws {
        let evening = try Evening()
        defer { evening.doorstep.remove() }
        let info = try Self.info
        async let serving = evening.serve(info)
        let channel = try evening.channel()
        let phone = try await evening.client().shakeHands(over: channel, .seconds(30)).meet(.seconds(30))
        #expect(phone.info.versions == info.versions)
        let served = try await serving
        try await phone.channel.send(.ctap(CTAPPayload(bytes: [4])))
        guard case .ctap(let payload) = try await served.channel.receive() else {
            Issue.record("that was no request")
            return
        }
        #expect(payload.bytes == [4])
        await channel.close()
    }

    @Test("Strangers get no byte and end nothing: silent ones, loud ones, and one who heard another advert")
    func strangers() async throws {
        let evening = try Evening()
        defer { evening.doorstep.remove() }
        let info = try Self.info
        async let serving = evening.serve(info)
        // More than may be inside at one time, were the loud ones not let go.
        var random = SeededGenerator()
        for _ in 0..<8 {
            let loud = try evening.channel()
            try await loud.send(WireMessage(bytes: random.bytes(81)))
            await #expect(throws: TunnelError.self) { try await loud.receive { $0 } }
            await loud.close()
        }
        let silent = try evening.channel()
        let domain = try #require(TunnelDomain(id: 266))
        let other = EID(routingID: RoutingID(node: 0, check: 0), domain: domain, using: &random)
        let deaf = try evening.channel()
        await #expect(throws: TunnelError.self) {
            try await evening.client(hearing: other).shakeHands(over: deaf, .seconds(30))
        }
        let channel = try evening.channel()
        _ = try await evening.client().shakeHands(over: channel, .seconds(30)).meet(.seconds(30))
        _ = try await serving
        // Who was still silent is let go when another has come.
        await #expect(throws: TunnelError.self) { try await silent.receive { $0 } }
        await channel.close()
    }

    @Test("So many strangers may try and no more")
    func tooMany() async throws {
        let evening = try Evening()
        defer { evening.doorstep.remove() }
        async let verified = evening.doors.awaitClient { _ in }
        for _ in 0..<L2CAPAcceptor.most {
            let stranger = try evening.channel()
            try await stranger.send(WireMessage(bytes: [UInt8](repeating: 4, count: 81)))
            await #expect(throws: TunnelError.self) { try await stranger.receive { $0 } }
        }
        do {
            _ = try await verified
            Issue.record("a stranger was let in")
        } catch {
            #expect(error as? AuthenticatorSessionFailure == .notVerified)
        }
        // Who comes now is told so at once, and goes through the relay.
        try await Waiting.until("a door that is shut") { !evening.doorstep.isOpen }
    }

    @Test("A door that takes no bytes is as silent as one that gives none", .timeLimit(.minutes(5)))
    func takesNothing() async throws {
        let evening = try Evening()
        defer { evening.doorstep.remove() }
        let visitor = try evening.doorstep.visitor()
        // Nobody reads at the other end, and what the kernel would keep for it is used up.
        let packet = [UInt8](repeating: 0, count: 672)
        while send(visitor, packet, packet.count, CInt(MSG_NOSIGNAL)) > 0 {}
        let channel = L2CAPChannel(adopting: visitor, largestPacket: 672)
        await #expect(throws: ClientFailure.phoneSilent) {
            try await evening.client().shakeHands(over: channel, .milliseconds(200))
        }
        await channel.close()
    }

    @Test("Who says nothing is let go after a time")
    func silent() async throws {
        var evening = try Evening()
        defer { evening.doorstep.remove() }
        evening.doors.patience = .milliseconds(50)
        let waiting = Task { [doors = evening.doors] in try await doors.awaitClient { _ in } }
        let silent = try evening.channel()
        await #expect(throws: TunnelError.closed(code: 1000)) { try await silent.receive { $0 } }
        waiting.cancel()
    }

    @Test("A client that leaves between handshake and introduction asked for nothing")
    func leaves() async throws {
        let evening = try Evening()
        defer { evening.doorstep.remove() }
        let channel = try evening.channel()
        let leaving = Task {
            try? await evening.client().shakeHands(over: channel, .seconds(60))
        }
        let verified = try await evening.doors.awaitClient { _ in }
        leaving.cancel()
        _ = await leaving.value
        await channel.close()
        await #expect(throws: AuthenticatorSessionFailure.clientSilent) {
            // The end of the link is noticed some time after it came.
            while true { _ = try await verified.introduce(Self.info) }
        }
    }

    @Test("Nobody waits at the door of a task that was cancelled")
    func cancelled() async throws {
        let evening = try Evening()
        defer { evening.doorstep.remove() }
        let waiting = Task { try await evening.doors.awaitClient { _ in } }
        let silent = try evening.channel()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        evening.doorstep.listener.close()
        await #expect(throws: TunnelError.self) { try await silent.receive { $0 } }
    }

    @Test("Without a way by radio the client says why and goes through the relay")
    func fallsBack() async throws {
        let evening = try Evening()
        defer { evening.doorstep.remove() }
        let told = Mutex([String]())
        let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
        let heard = NearbyPhone(
            offer: evening.doors.offer,
            clientKey: key,
            eid: evening.doors.eid,
            byRadio: .failure(.addressUnknown)
        )
        let connected = try await heard.connectByRadio(ClientTimeouts()) { event in
            if case .radioChannelFailed(let failure) = event { told.withLock { $0.append(failure.words) } }
        }
        #expect(connected == nil)
        #expect(told.withLock { $0 } == [L2CAPError.addressUnknown.words])
        // Nothing is tried, and nothing said, where the advert names no channel.
        #expect(
            try await evening.client().connectByRadio(ClientTimeouts()) { _ in Issue.record("nothing happens") } == nil
        )
    }
}
