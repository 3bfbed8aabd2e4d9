// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
package import HybridCredentialExchange
internal import HybridPrimitives

/// Stage 1 of a giver: it has scanned a code, and waits for the receiver's greeting.
///
/// Each stage is used once. Its `frame`, if it has one, is sent before the next message is received.
package struct TransferGiver: Sendable {
    private let purpose: TransferPurpose
    private let name: String
    private let vault: TransferVault
    private let nonce: TransferNonce

    /// Creates the giver for a code of this purpose.
    package init(purpose: TransferPurpose, name: String, vault: TransferVault) {
        self.init(purpose: purpose, name: name, vault: vault, nonce: .random())
    }

    init(purpose: TransferPurpose, name: String, vault: TransferVault, nonce: TransferNonce) {
        (self.purpose, self.name, self.vault, self.nonce) = (purpose, name, vault, nonce)
    }

    /// Receives the receiver's greeting.
    ///
    /// - Parameter hash: The handshake hash of the channel.
    package func receive(_ frame: TransferFrame, hash: HandshakeHash) throws(TransferFailure) -> GreetedReceiver {
        let hello = try ReceiverHello(frame, for: purpose)
        return GreetedReceiver(
            frame: GiverHello(name: name, vault: vault.digits, nonce: nonce).frame,
            hello: hello,
            vault: vault,
            nonce: nonce,
            hash: hash
        )
    }
}

/// Stage 2 of a giver: the receiver has committed itself to its nonce.
package struct GreetedReceiver: Sendable {
    /// The message to send.
    package let frame: TransferFrame
    let hello: ReceiverHello
    let vault: TransferVault
    let nonce: TransferNonce
    let hash: HandshakeHash

    /// Receives the receiver's nonce.
    ///
    /// - Throws: ``TransferFailure/manipulated``, ``TransferFailure/sameVault``.
    package func receive(_ frame: TransferFrame) throws(TransferFailure) -> ComparedReceiver {
        let reveal = try NonceReveal(frame)
        guard reveal.nonce.commitment == hello.commitment else { throw .manipulated }
        let binding = TransferBinding(hash: hash, receiver: reveal.nonce, giver: nonce)
        guard reveal.vault != binding.tag(of: vault) else { throw .sameVault }
        return ComparedReceiver(
            receiver: hello.peer,
            digits: TransferDigits(binding),
            purpose: hello.purpose,
            binding: binding
        )
    }
}

/// Stage 3 of a giver: the digits are known, and its user is asked.
package struct ComparedReceiver: Sendable {
    /// The receiver.
    package let receiver: TransferPeer
    /// The digits to show.
    package let digits: TransferDigits
    let purpose: TransferPurpose
    let binding: TransferBinding

    /// Returns the stage that can offer, or ends the transfer.
    ///
    /// - Throws: ``TransferFailure/declined``, ``TransferFailure/digitsDiffer``.
    package func answer(_ answer: TransferAnswer) throws(TransferFailure) -> ApprovedTransfer {
        try answer.requireConsent()
        return ApprovedTransfer(purpose: purpose, sealing: PayloadSealing(purpose, binding: binding.bytes))
    }
}

/// Stage 4 of a giver: its user has compared the digits and agreed.
///
/// Nothing about the vault has left this device before, because only this stage makes an offer.
package struct ApprovedTransfer: Sendable {
    let purpose: TransferPurpose
    let sealing: PayloadSealing

    /// Offers passkeys.
    ///
    /// - Parameters:
    ///   - passkeys: The passkeys, which the user has seen.
    ///   - isMove: True if each is removed here when the receiver has it.
    ///   - time: The time in seconds since 1970.
    /// - Throws: ``TransferFailure/nothingToGive``, ``TransferFailure/tooLong``, ``TransferFailure/tooLarge(_:)``.
    package func offer(
        _ passkeys: [ExchangedPasskey],
        isMove: Bool,
        time: UInt64
    ) throws(TransferFailure) -> SentOffer {
        guard purpose == .give else { throw .purpose(expected: purpose) }
        guard !passkeys.isEmpty else { throw .nothingToGive }
        guard passkeys.count <= TransferOffer.maximumCount else { throw .tooLong }
        let bytes = try GiftBatch.split(passkeys).reduce(0) { $0 + $1.length }
        let offer = TransferOffer.passkeys(passkeys.map { OfferedPasskey($0) }, bytes: UInt64(bytes), isMove: isMove)
        return SentOffer(frame: try offer.frame(), passkeys: passkeys, time: time, sealing: sealing)
    }

    /// Offers the key of the vault.
    ///
    /// - Parameters:
    ///   - material: What the vault made for the new device.
    ///   - fingerprint: The fingerprint of the key.
    ///   - passkeys: The number of passkeys in the vault.
    package func offer(
        vaultKey material: VaultMaterial,
        fingerprint: String,
        passkeys: Int
    ) throws(TransferFailure) -> SentVaultOffer {
        guard purpose == .join else { throw .purpose(expected: purpose) }
        let offer = TransferOffer.vault(fingerprint: fingerprint, passkeys: passkeys)
        return SentVaultOffer(frame: try offer.frame(), material: material, sealing: sealing)
    }
}
