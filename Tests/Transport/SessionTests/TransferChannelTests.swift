// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridSession

/// One side of a transfer, whose other end is played by the test.
private struct OneSide {
    let connection: Connection
    let channel: TransferChannel
    /// The other end.
    let peer: EncryptedChannel
    let peerWire: MemoryChannel

    static let receiver = "receiver"
    static let giver = "giver"

    init(_ side: String, over kind: DataChannelKind = .webSocket) throws {
        connection = try Connection()
        let isReceiver = side == Self.receiver
        channel = TransferChannel(
            isReceiver ? connection.client : connection.phone,
            connection.handshakeHash,
            over: kind,
            isReceiver ? ClientFailure.self : AuthenticatorSessionFailure.self
        )
        peer = isReceiver ? connection.phone : connection.client
        peerWire = isReceiver ? connection.phoneWire : connection.clientWire
    }

    /// Expects the peer to get *shutdown* and nothing before it.
    func expectShutdown() async throws {
        try await withDeadline(.seconds(60), orThrow: ClientFailure.peerSilent) {
            guard case .shutdown = try await peer.receive() else {
                Issue.record("a message other than shutdown")
                return
            }
        }
    }
}

private func frame(_ text: String) throws -> TransferFrame { try TransferFrame(padding: Array(text.utf8)) }

private func isSame(_ error: any Error, _ failure: any ExplainedFailure) -> Bool {
    guard let error = error as? any ExplainedFailure else { return false }
    return error.code == failure.code && error.sentence == failure.sentence && error.status == failure.status
}

@Suite("The channel of a transfer", .timeLimit(.minutes(5)))
struct TransferChannelTests {
    /// The error with which `body` ends.
    private func failure(of body: () async throws -> Void) async -> any Error {
        do {
            try await body()
            return CancellationError()
        } catch {
            return error
        }
    }

    private static func left(_ side: String) -> any ExplainedFailure {
        side == OneSide.receiver ? ClientFailure.giverLeft : AuthenticatorSessionFailure.receiverLeft
    }

    private static func misbehaved(_ side: String, _ how: String) -> any ExplainedFailure {
        guard side == OneSide.giver else { return ClientFailure.giverMisbehaved(how) }
        return AuthenticatorSessionFailure.receiverMisbehaved(how)
    }

    @Test("Objects travel both ways, and the end is announced", arguments: [OneSide.receiver, OneSide.giver])
    func exchange(side: String) async throws {
        let one = try OneSide(side)
        let long = [UInt8](repeating: UInt8(ascii: "7"), count: TransferFrame.maximumLength)
        async let answering: Void = {
            guard case .json(let first) = try await one.peer.receive() else { throw CancellationError() }
            #expect((first.count + 2) % 512 == 0)
            try await one.peer.send(.json(first))
            guard case .json(let second) = try await one.peer.receive() else { throw CancellationError() }
            try await one.peer.send(.json(second))
            try await one.expectShutdown()
        }()
        let outcome = await one.channel.run { channel in
            for object in [Array("{}".utf8), long] {
                let frame = try TransferFrame(padding: object)
                try await channel.send(frame)
                let answer = try await channel.receive(within: .seconds(60))
                #expect(answer == frame)
            }
            return 7
        }
        #expect(try outcome.get() == 7)
        try await answering
        #expect(one.channel.handshakeHash == one.connection.handshakeHash && one.channel.kind == .webSocket)
    }

    @Test(
        "The error of the work passes unchanged, and the end is announced",
        arguments: [OneSide.receiver, OneSide.giver]
    )
    func ownError(side: String) async throws {
        struct Own: Error {}
        let one = try OneSide(side)
        let outcome: Result<Void, any Error> = await one.channel.run { _ in throw Own() }
        #expect(throws: Own.self) { try outcome.get() }
        try await one.expectShutdown()
    }

    @Test("After shutdown nothing is received or sent", arguments: [OneSide.receiver, OneSide.giver])
    func peerShutsDown(side: String) async throws {
        let one = try OneSide(side)
        try await one.peer.send(.json([1]))
        try await one.peer.send(.shutdown)
        let outcome = await one.channel.run { channel in
            // Earlier messages are still received.
            let message = try await channel.receive(within: nil)
            #expect(message.bytes == [1])
            let received = await failure { _ = try await channel.receive(within: nil) }
            let sent = await failure { try await channel.send(frame("{}")) }
            #expect(isSame(received, Self.left(side)) && isSame(sent, Self.left(side)), "\(received) \(sent)")
        }
        try outcome.get()
    }

    @Test(
        "Messages that do not belong in a transfer end it",
        arguments: [OneSide.receiver, OneSide.giver],
        ["ctap", "update", "type", "frame", "empty"]
    )
    func hostile(side: String, kind: String) async throws {
        let one = try OneSide(side)
        let how: String
        switch kind {
        case "ctap":
            try await one.peer.send(.ctap([4]))
            how = "it sent a message of a sign-in"
        case "update":
            try await one.peer.send(.update(nil))
            how = "it sent a message of a sign-in"
        case "type", "empty":
            // A post-handshake message has no type byte, so its first byte is taken for one.
            try await one.peer.send(PostHandshakeMessage(info: [0xA0]))
            how = "a message can't be read"
        default:
            try await one.peerWire.send(WireMessage(bytes: [UInt8](repeating: 3, count: 528)))
            how = "a message can't be opened"
        }
        let outcome = await one.channel.run { channel in
            let error = await failure { _ = try await channel.receive(within: .seconds(60)) }
            #expect(isSame(error, Self.misbehaved(side, how)), "\(error)")
        }
        try outcome.get()
    }

    @Test("A peer that does not wait for answers is stopped after a few messages")
    func tooMany() async throws {
        let one = try OneSide(OneSide.giver)
        for number in 0..<8 as Range<UInt8> { try await one.peer.send(.json([number])) }
        let outcome = await one.channel.run { channel in
            // Waits until the violation is noticed.
            _ = await failure { try await channel.whileConnected { await Signal.cancellation() } }
            for number in 0..<UInt8(TransferChannel.maximumUnread) {
                let message = try await channel.receive(within: nil)
                #expect(message.bytes == [number])
            }
            let error = await failure { _ = try await channel.receive(within: nil) }
            #expect(isSame(error, Self.misbehaved(OneSide.giver, "it does not wait for answers")), "\(error)")
        }
        try outcome.get()
    }

    @Test("A silent peer is not waited for", arguments: [OneSide.receiver, OneSide.giver])
    func silent(side: String) async throws {
        let one = try OneSide(side)
        let outcome = await one.channel.run { channel in
            let error = await failure { _ = try await channel.receive(within: .milliseconds(20)) }
            let expected: any ExplainedFailure =
                side == OneSide.receiver ? ClientFailure.giverSilent : AuthenticatorSessionFailure.receiverSilent
            #expect(isSame(error, expected), "\(error)")
            // The channel still works.
            try await one.peer.send(.json([5]))
            let message = try await channel.receive(within: nil)
            #expect(message.bytes == [5])
        }
        try outcome.get()
    }

    @Test("A question is closed when the other side leaves, and what it said before is received afterwards")
    func whileConnected() async throws {
        let one = try OneSide(OneSide.receiver)
        let (asking, closed) = (Signal(), Signal())
        async let leaving: Void = {
            await asking.wait()
            try await one.peer.send(.json([1]))
            try await one.peer.send(.shutdown)
        }()
        let outcome = await one.channel.run { channel in
            let three = try await channel.whileConnected { 3 }
            #expect(three == 3)
            let error = await failure {
                try await channel.whileConnected {
                    asking.fire()
                    await Signal.cancellation()
                    closed.fire()
                }
            }
            #expect(isSame(error, ClientFailure.giverLeft), "\(error)")
            await closed.wait()
            let message = try await channel.receive(within: nil)
            #expect(message.bytes == [1])
        }
        try outcome.get()
        try await leaving
    }

    @Test("The cause of a lost connection depends on the channel")
    func ends() async throws {
        let ends: [(TunnelError, DataChannelKind, any ExplainedFailure)] = [
            (.closed(code: 1000), .webSocket, AuthenticatorSessionFailure.receiverLeft),
            (.closed(code: 1001), .webSocket, AuthenticatorSessionFailure.receiverOrRelayLeft),
            (.connectionLost, .l2cap, AuthenticatorSessionFailure.receiverLeft),
            (.connectionLost, .webSocket, TunnelError.connectionLost),
            (.closed(code: 1008), .webSocket, TunnelError.closed(code: 1008)),
            (
                .closed(code: 1009), .webSocket,
                AuthenticatorSessionFailure.receiverMisbehaved("it sent a message that relays reject")
            ),
        ]
        for (end, kind, expected) in ends {
            let one = try OneSide(OneSide.giver, over: kind)
            one.peerWire.end(end)
            let outcome = await one.channel.run { channel in
                let error = await failure { _ = try await channel.receive(within: nil) }
                #expect(isSame(error, expected) && error is AuthenticatorSessionFailure, "\(error)")
            }
            try outcome.get()
        }
    }

    @Test("Cancellation ends a transfer, and the end is announced")
    func cancelled() async throws {
        let one = try OneSide(OneSide.receiver)
        let started = Signal()
        let running = Task {
            await one.channel.run { channel in
                started.fire()
                _ = try await channel.receive(within: nil)
            }
        }
        await started.wait()
        running.cancel()
        let outcome = await running.value
        #expect(throws: CancellationError.self) { try outcome.get() }
        try await one.expectShutdown()
    }
}

@Suite("Transfers over L2CAP", .timeLimit(.minutes(5)))
struct TransferL2CAPTests {
    @Test("Both ends have the same hash, and objects travel both ways")
    func exchange() async throws {
        let fixture = try L2CAPFixture(L2CAPFixture.transfer)
        defer { fixture.acceptingSocket.remove() }
        async let giving: HandshakeHash = {
            let verified = try await fixture.pending.awaitClient { _ in }
            try await verified.completeTransferHandshake()
            let hash = verified.handshakeHash
            let channel = TransferChannel(
                verified.channel,
                hash,
                over: verified.transport.kind,
                AuthenticatorSessionFailure.self
            )
            #expect(channel.kind == .l2cap)
            let outcome = await channel.run { channel in
                while let frame = try? await channel.receive(within: nil) { try await channel.send(frame) }
            }
            try outcome.get()
            return hash
        }()
        let channel = try fixture.channel()
        let phone = try await fixture.client().performHandshake(over: channel, .seconds(60))
        let receiver = TransferChannel(phone.channel, phone.handshakeHash, over: .l2cap, ClientFailure.self)
        let outcome = await receiver.run { receiver in
            for length in [2, 510, 700, 200_000] {
                let frame = try TransferFrame(padding: [UInt8](repeating: UInt8(ascii: "1"), count: length))
                try await receiver.send(frame)
                let answer = try await receiver.receive(within: .seconds(60))
                #expect(answer == frame)
            }
        }
        try outcome.get()
        let hash = try await giving
        #expect(hash == phone.handshakeHash)
        await channel.close()
    }

    @Test("A sign-in with the same secret is refused in a transfer, and the reverse", arguments: [true, false])
    func otherUse(isTransfer: Bool) async throws {
        let fixture = try L2CAPFixture(isTransfer ? L2CAPFixture.transfer : L2CAPFixture.signIn)
        defer { fixture.acceptingSocket.remove() }
        async let waiting = fixture.pending.awaitClient { _ in }
        let own = fixture.clientKey
        let other = NearbyPhone(
            keys: isTransfer ? L2CAPFixture.signIn(own.publicKey) : L2CAPFixture.transfer(own.publicKey),
            clientKey: own,
            offersLinking: false,
            eid: fixture.pending.eid,
            l2capRoute: nil
        )
        let refused = try fixture.channel()
        await #expect(throws: TunnelError.self) { try await other.performHandshake(over: refused, .seconds(60)) }
        // The right one is still served.
        let channel = try fixture.channel()
        async let connected = fixture.client().performHandshake(over: channel, .seconds(60))
        let verified = try await waiting
        try await verified.completeTransferHandshake()
        let hash = try await connected.handshakeHash
        #expect(hash == verified.handshakeHash)
        await channel.close()
    }
}
