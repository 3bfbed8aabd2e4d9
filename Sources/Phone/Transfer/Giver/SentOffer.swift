// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
package import HybridCredentialExchange
internal import HybridPrimitives

/// Stage 5 of a giver: passkeys are offered.
package struct SentOffer: Sendable, SecretMaterial {
    /// The message to send.
    package let frame: TransferFrame
    let passkeys: [ExchangedPasskey]
    let time: UInt64
    let sealing: PayloadSealing

    /// Receives the acceptance; returns the first batch.
    package func receive(_ frame: TransferFrame) throws(TransferFailure) -> SentBatch {
        let acceptance = try TransferAcceptance(frame, offered: passkeys.count)
        let chosen = acceptance.which.map { $0.map { passkeys[$0] } } ?? passkeys
        let batches = try GiftBatch.split(chosen)
        let sequence = GiftSequence(batches: batches, time: time, sealing: sealing, request: acceptance.request)
        return try sequence.batch(0)
    }
}

/// The batches of a transfer.
struct GiftSequence: Sendable {
    let batches: [GiftBatch]
    let time: UInt64
    let sealing: PayloadSealing
    let request: ExportRequest

    /// Number of passkeys of all batches.
    var count: Int { batches.reduce(0) { $0 + $1.passkeys.count } }

    /// Seals the batch of an index.
    func items(_ index: Int) throws(TransferFailure) -> (TransferredItems, PayloadHash) {
        let place = PayloadPlace(index: UInt32(index), isLast: index == batches.count - 1)
        return try batches[index].document(time: time) { (payload) throws(TransferFailure) in
            (try sealing.seal(payload, at: place, for: request), PayloadHash(of: payload))
        }
    }

    func batch(_ index: Int) throws(TransferFailure) -> SentBatch {
        let (items, hash) = try items(index)
        return SentBatch(frame: try items.frame(), index: index, payload: hash, sequence: self)
    }
}

/// Stage 6 of a giver: a batch is sent, and the receiver stores it.
package struct SentBatch: Sendable, SecretMaterial {
    /// The message to send.
    package let frame: TransferFrame
    let index: Int
    let payload: PayloadHash
    let sequence: GiftSequence

    /// Number of passkeys that the receiver accepted, in all batches.
    package var acceptedCount: Int { sequence.count }
    /// The passkeys of this batch.
    package var passkeys: [ExchangedPasskey] { sequence.batches[index].passkeys }

    /// Receives the confirmation.
    ///
    /// - Throws: ``TransferFailure/unconfirmed`` if it is about anything else than this batch.
    package func receive(_ frame: TransferFrame) throws(TransferFailure) -> ConfirmedBatch {
        let stored = try StoredItems(frame)
        guard stored.payload == payload else { throw .unconfirmed }
        let ids = Set(stored.ids)
        guard ids.count == stored.ids.count, ids.isSubset(of: passkeys.map(\.id.credential)) else {
            throw .unconfirmed
        }
        return ConfirmedBatch(
            stored: passkeys.filter { ids.contains($0.id.credential) },
            notStored: passkeys.filter { !ids.contains($0.id.credential) },
            index: index,
            sequence: sequence
        )
    }
}

/// Stage 7 of a giver: the receiver has stored a batch durably.
package struct ConfirmedBatch: Sendable, SecretMaterial {
    /// The passkeys that the receiver has now; these may be removed here.
    package let stored: [ExchangedPasskey]
    /// The passkeys that the receiver does not have, because its vault could not hold them.
    package let notStored: [ExchangedPasskey]
    let index: Int
    let sequence: GiftSequence

    /// The message to send after the last batch.
    package var doneFrame: TransferFrame { TransferMessage.shortFrame(.done) }

    /// Returns the next batch; `nil` after the last one.
    package func next() throws(TransferFailure) -> SentBatch? {
        guard index + 1 < sequence.batches.count else { return nil }
        return try sequence.batch(index + 1)
    }
}
