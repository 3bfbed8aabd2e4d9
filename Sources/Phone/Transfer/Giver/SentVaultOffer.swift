// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
internal import HybridPrimitives

/// Stage 5 of a giver whose vault gets another device: the key is offered.
package struct SentVaultOffer: Sendable, SecretMaterial {
    /// The message to send.
    package let frame: TransferFrame
    let material: VaultMaterial
    let sealing: PayloadSealing

    /// Receives the acceptance; returns the sealed key.
    package func receive(_ frame: TransferFrame) throws(TransferFailure) -> SentVault {
        let acceptance = try TransferAcceptance(frame, offered: 0)
        let place = PayloadPlace(index: 0, isLast: true)
        // A copy, because the bytes are lent to a closure that can't throw this type of error.
        let payload = material.withUnsafeBytes { SecretBytes(copying: $0) }
        let bytes = UnsafeRawBufferPointer(payload.memory)
        let items = try sealing.seal(bytes, at: place, for: acceptance.request)
        return SentVault(frame: try items.frame(), payload: PayloadHash(of: bytes))
    }
}

/// Stage 6 of a giver whose vault gets another device: the key is sent.
package struct SentVault: Sendable {
    /// The message to send.
    package let frame: TransferFrame
    let payload: PayloadHash

    /// The message to send after the confirmation.
    package var doneFrame: TransferFrame { TransferMessage.shortFrame(.done) }

    /// Receives the confirmation.
    package func receive(_ frame: TransferFrame) throws(TransferFailure) {
        let stored = try StoredItems(frame)
        guard stored.payload == payload, stored.ids.isEmpty else { throw .unconfirmed }
    }
}
