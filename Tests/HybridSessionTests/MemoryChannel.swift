// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCaBLE
import HybridDataChannel
import Synchronization
import Testing

/// One end of a message channel in memory.
final class MemoryChannel: MessageChannel {
    private let incoming: AsyncStream<Result<WireMessage, TunnelError>>
    private let outgoing: AsyncStream<Result<WireMessage, TunnelError>>.Continuation
    private let state = Mutex((sent: 0, fault: TunnelError?.none))

    private init(
        _ incoming: AsyncStream<Result<WireMessage, TunnelError>>,
        _ outgoing: AsyncStream<Result<WireMessage, TunnelError>>.Continuation
    ) {
        (self.incoming, self.outgoing) = (incoming, outgoing)
    }

    /// Two ends that hear each other.
    static func pair() -> (MemoryChannel, MemoryChannel) {
        let (one, toOne) = AsyncStream.makeStream(of: Result<WireMessage, TunnelError>.self)
        let (other, toOther) = AsyncStream.makeStream(of: Result<WireMessage, TunnelError>.self)
        return (MemoryChannel(one, toOther), MemoryChannel(other, toOne))
    }

    /// How many messages were sent from here.
    var sent: Int { state.withLock { $0.sent } }

    /// Makes every later sending fail, or none any more.
    func failSending(_ error: TunnelError?) { state.withLock { $0.fault = error } }

    /// Ends the channel; the other side learns why.
    func end(_ error: TunnelError) {
        outgoing.yield(.failure(error))
        outgoing.finish()
    }

    func send(_ message: WireMessage) async throws {
        try Task.checkCancellation()
        if let fault = state.withLock({ $0.fault }) { throw fault }
        state.withLock { $0.sent += 1 }
        outgoing.yield(.success(message))
    }

    func receive<Accepted: Sendable>(accept: @Sendable (WireMessage) -> Accepted?) async throws -> Accepted {
        for await item in incoming {
            guard let accepted = accept(try item.get()) else { throw TunnelError.messageRefused }
            return accepted
        }
        try Task.checkCancellation()
        throw TunnelError.connectionLost
    }
}

/// A desktop and a phone after the handshake, with a channel in memory between them.
struct Connection {
    /// The desktop's end, encrypted and bare.
    let client: EncryptedChannel
    let clientWire: MemoryChannel
    /// The phone's end.
    let phone: EncryptedChannel
    let phoneWire: MemoryChannel

    init() throws {
        let key = P256.KeyAgreement.PrivateKey()
        let secret = try #require(QRSecret(bytes: [UInt8](repeating: 3, count: 16)))
        let domain = try #require(TunnelDomain(id: 266))
        let eid = EID(nonce: [UInt8](repeating: 1, count: 10), routingID: RoutingID(node: 1, check: 2), domain: domain)
        let psk = secret.psk(heard: try #require(eid))
        let initiator = try InitiatorHandshake(clientKey: key, psk: psk, ephemeral: P256.KeyAgreement.PrivateKey())
        let answer = try ResponderHandshake(
            clientKey: key.publicKey,
            psk: psk,
            ephemeral: P256.KeyAgreement.PrivateKey()
        ).answer(initiator.message1)
        (clientWire, phoneWire) = MemoryChannel.pair()
        client = EncryptedChannel(over: clientWire, keys: try initiator.finish(answer.message2))
        phone = EncryptedChannel(over: phoneWire, keys: answer.keys)
    }
}

/// Something that happens once, for others to wait for.
struct Signal: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func fire() { continuation.finish() }
    func wait() async { for await _ in stream {} }

    /// Returns when the task is cancelled.
    static func cancellation() async {
        let never = Signal()
        await never.wait()
        withExtendedLifetime(never) {}
    }
}
