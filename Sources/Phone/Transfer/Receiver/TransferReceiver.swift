// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
internal import HybridPrimitives

/// Stage 1 of a receiver: it greets the giver, which has scanned its code.
///
/// Each stage is used once. Its ``frame`` is sent before the next message is received.
package struct TransferReceiver: Sendable {
    /// The message to send.
    package let frame: TransferFrame
    private let purpose: TransferPurpose
    private let vault: TransferVault?
    private let nonce: TransferNonce

    /// Creates the receiver of passkeys.
    package init(name: String, vault: TransferVault) {
        self.init(name: name, vault: vault, nonce: .random())
    }

    /// Creates the receiver of the key of a vault.
    package init(joiningAs name: String) { self.init(name: name, vault: nil, nonce: .random()) }

    init(name: String, vault: TransferVault?, nonce: TransferNonce) {
        (self.vault, self.nonce) = (vault, nonce)
        purpose = vault == nil ? .join : .give
        let hello = ReceiverHello(
            purpose: purpose,
            name: name,
            vault: vault?.digits,
            commitment: nonce.commitment
        )
        frame = hello.frame
    }

    /// Receives the giver's greeting.
    ///
    /// - Parameter hash: The handshake hash of the channel.
    package func receive(_ frame: TransferFrame, hash: HandshakeHash) throws(TransferFailure) -> GreetedGiver {
        let hello = try GiverHello(frame)
        let binding = TransferBinding(hash: hash, receiver: nonce, giver: hello.nonce)
        let reveal = NonceReveal(nonce: nonce, vault: vault.map { binding.tag(of: $0) })
        return GreetedGiver(
            frame: reveal.frame,
            giver: hello.peer,
            digits: TransferDigits(binding),
            purpose: purpose,
            binding: binding
        )
    }
}

/// Stage 2 of a receiver: the digits are known, and the giver's user has not agreed yet.
package struct GreetedGiver: Sendable {
    /// The message to send.
    package let frame: TransferFrame
    /// The giver.
    package let giver: TransferPeer
    /// The digits to show.
    package let digits: TransferDigits
    let purpose: TransferPurpose
    let binding: TransferBinding

    /// Receives the offer, which arrives when the giver's user has agreed.
    package func receive(_ frame: TransferFrame) throws(TransferFailure) -> ReceivedOffer {
        let offer = try TransferOffer(frame, for: purpose)
        return ReceivedOffer(
            content: offer,
            giver: giver,
            digits: digits,
            sealing: PayloadSealing(purpose, binding: binding.bytes)
        )
    }
}

/// Stage 3 of a receiver: its user sees what is offered.
package struct ReceivedOffer: Sendable {
    /// The passkeys, or the vault, that are offered.
    package let content: TransferOffer
    /// The giver.
    package let giver: TransferPeer
    /// The digits to show.
    package let digits: TransferDigits
    let sealing: PayloadSealing

    /// Accepts the offer, or ends the transfer.
    ///
    /// - Parameters:
    ///   - answer: The answer of the user.
    ///   - which: The indices of the passkeys to receive, in rising order; `nil` for all.
    /// - Throws: ``TransferFailure/declined``, ``TransferFailure/digitsDiffer``.
    package func answer(_ answer: TransferAnswer, which: [Int]? = nil) throws(TransferFailure) -> AwaitedItems {
        try self.answer(answer, which: which, key: .random())
    }

    func answer(
        _ answer: TransferAnswer,
        which: [Int]?,
        key: RequestKey
    ) throws(TransferFailure) -> AwaitedItems {
        try answer.requireConsent()
        var accepted: [OfferedPasskey] = []
        if case .passkeys(let offered, _, _) = content {
            if let which { try TransferAcceptance.check(which, offered: offered.count) }
            accepted = which.map { $0.map { offered[$0] } } ?? offered
        }
        let acceptance = TransferAcceptance(which: which, request: ExportRequest(for: key))
        return AwaitedItems(
            frame: try acceptance.frame(),
            expected: ExpectedItems(accepted, sealing: sealing, key: key)
        )
    }
}
