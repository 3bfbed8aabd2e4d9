// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import HybridThreads
import Synchronization
import Testing

/// One end of a message channel in memory.
final class MemoryChannel: MessageChannel {
    private typealias Queue = AwaitableState<[Result<WireMessage, TunnelError>]>

    private let incoming: Queue
    private let outgoing: Queue
    private let state = Mutex((sent: 0, fault: TunnelError?.none))

    private init(_ incoming: Queue, _ outgoing: Queue) { (self.incoming, self.outgoing) = (incoming, outgoing) }

    /// Returns two connected ends.
    static func pair() -> (MemoryChannel, MemoryChannel) {
        let (one, other) = (Queue([]), Queue([]))
        return (MemoryChannel(one, other), MemoryChannel(other, one))
    }

    /// Number of messages sent from this end.
    var sent: Int { state.withLock { $0.sent } }

    /// Makes later sends fail with `error`, or succeed again with `nil`.
    func failSending(_ error: TunnelError?) { state.withLock { $0.fault = error } }

    /// Ends the channel with an error for the other end.
    func end(_ error: TunnelError) { outgoing.change { $0.append(.failure(error)) } }

    func send(_ message: WireMessage) async throws {
        try Task.checkCancellation()
        if let fault = state.withLock({ $0.fault }) { throw fault }
        state.withLock { $0.sent += 1 }
        outgoing.change { $0.append(.success(message)) }
    }

    func receive<Accepted: Sendable>(accept: @Sendable (WireMessage) -> Accepted?) async throws -> Accepted {
        while true {
            await incoming.wait { !$0.isEmpty }
            try Task.checkCancellation()
            // An error is the last item and stays.
            let item = incoming.change { queue in
                if case .success? = queue.first { return queue.removeFirst() as Result<WireMessage, TunnelError>? }
                return queue.first
            }
            guard let item else { continue }
            guard let accepted = accept(try item.get()) else { throw TunnelError.messageRefused }
            return accepted
        }
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
    let handshakeHash: HandshakeHash

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
        handshakeHash = answer.keys.handshakeHash
        client = EncryptedChannel(over: clientWire, keys: try initiator.finish(answer.message2))
        phone = EncryptedChannel(over: phoneWire, keys: answer.takeKeys())
    }
}
