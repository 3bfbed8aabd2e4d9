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

    /// Returns two connected ends.
    static func pair() -> (MemoryChannel, MemoryChannel) {
        let (one, toOne) = AsyncStream.makeStream(of: Result<WireMessage, TunnelError>.self)
        let (other, toOther) = AsyncStream.makeStream(of: Result<WireMessage, TunnelError>.self)
        return (MemoryChannel(one, toOther), MemoryChannel(other, toOne))
    }

    /// Number of messages sent from this end.
    var sent: Int { state.withLock { $0.sent } }

    /// Makes later sends fail with `error`, or succeed again with `nil`.
    func failSending(_ error: TunnelError?) { state.withLock { $0.fault = error } }

    /// Ends the channel with an error for the other end.
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

/// A client and an authenticator after the handshake, connected in memory.
struct Connection {
    /// The client's end, encrypted and plain.
    let client: EncryptedChannel
    let clientWire: MemoryChannel
    /// The authenticator's end.
    let phone: EncryptedChannel
    let phoneWire: MemoryChannel

    init() throws {
        let key = P256.KeyAgreement.PrivateKey()
        let secret = try #require(QRSecret(bytes: [UInt8](repeating: 3, count: 16)))
        let domain = try #require(TunnelDomain(id: 266))
        let eid = EID(nonce: [UInt8](repeating: 1, count: 10), routingID: RoutingID(node: 1, check: 2), domain: domain)
        let psk = secret.psk(for: try #require(eid))
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
