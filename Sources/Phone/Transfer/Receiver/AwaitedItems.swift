// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
package import HybridCaBLE
package import HybridCredentialExchange
internal import HybridPrimitives

/// Stage 4 of a receiver: it waits for the first payload.
package struct AwaitedItems: Sendable {
    /// The message to send.
    package let frame: TransferFrame
    let expected: ExpectedItems

    /// Receives the first batch of passkeys.
    ///
    /// - Parameter check: A check of the vault, which may skip a passkey.
    package func receive(
        _ frame: TransferFrame,
        checking check: ExchangeFile.Check
    ) throws(TransferFailure) -> ReceivedBatch {
        try expected.batch(frame, checking: check)
    }

    /// Receives the key of a vault.
    package func receiveVault(_ frame: TransferFrame) throws(TransferFailure) -> ReceivedVault {
        let (place, payload) = try expected.open(frame)
        guard place.isLast else { throw .malformed("a vault has one key") }
        guard let material = VaultMaterial(copying: UnsafeRawBufferPointer(payload.content.memory)) else {
            throw .malformed("what opens the vault is empty or too long")
        }
        return ReceivedVault(material: material, frame: StoredItems(ids: [], payload: payload.hash).frame)
    }
}

/// Stage 5 of a receiver: a batch of passkeys, to be stored durably.
package struct ReceivedBatch: Sendable {
    /// The passkeys.
    package let file: ExchangeFile
    /// True if it is the last batch.
    package let isLast: Bool
    let payload: PayloadHash
    let expected: ExpectedItems

    /// Confirms passkeys of this batch that are in the vault durably, also those that were there before.
    ///
    /// The giver may then remove them.
    package func stored(_ ids: Set<ExchangedPasskey.ID>) -> StoredBatch {
        var confirmed: [CredentialID] = []
        for passkey in file.passkeys where ids.contains(passkey.id) && !confirmed.contains(passkey.id.credential) {
            confirmed.append(passkey.id.credential)
        }
        let stored = StoredItems(ids: confirmed, payload: payload)
        return StoredBatch(frame: stored.frame, isLast: isLast, expected: expected)
    }
}

/// Stage 6 of a receiver: a batch is stored.
package struct StoredBatch: Sendable {
    /// The message to send.
    package let frame: TransferFrame
    /// True if it was the last batch.
    package let isLast: Bool
    let expected: ExpectedItems

    /// Receives the next batch, if this one was not the last.
    package func receive(
        _ frame: TransferFrame,
        checking check: ExchangeFile.Check
    ) throws(TransferFailure) -> ReceivedBatch {
        guard !isLast else { throw .malformed("passkeys after the last ones") }
        return try expected.batch(frame, checking: check)
    }

    /// Receives the end of the transfer, if this batch was the last one.
    package func receiveDone(_ frame: TransferFrame) throws(TransferFailure) {
        guard isLast else { throw .malformed("the end before the last passkeys") }
        try TransferMessage.read(frame, as: .done) { _ in }
    }
}

/// Stage 5 of a device that joins a vault: the key has arrived.
package struct ReceivedVault: Sendable, SecretMaterial {
    /// The bytes that the giver's vault made for this device; to be stored before the message is sent.
    package let material: VaultMaterial
    /// The message to send when they are stored.
    package let frame: TransferFrame

    /// Receives the end of the transfer.
    package func receiveDone(_ frame: TransferFrame) throws(TransferFailure) {
        try TransferMessage.read(frame, as: .done) { _ in }
    }
}

/// The payloads that may still arrive.
struct ExpectedItems: Sendable {
    private let sealing: PayloadSealing
    private let key: RequestKey
    /// Number of passkeys that were accepted.
    private let accepted: Int
    private var index: UInt32 = 0
    /// The accepted passkeys that have not arrived, with their numbers.
    private var missing: [OfferedPasskey: Int]
    private var arrived: Set<ExchangedPasskey.ID> = []

    init(_ accepted: [OfferedPasskey], sealing: PayloadSealing, key: RequestKey) {
        (self.sealing, self.key, self.accepted) = (sealing, key, accepted.count)
        missing = Dictionary(accepted.map { ($0, 1) }, uniquingKeysWith: +)
    }

    /// Opens the next payload.
    func open(_ frame: TransferFrame) throws(TransferFailure) -> (PayloadPlace, OpenedPayload) {
        let items = try TransferredItems(frame, index: index)
        return (items.place, try sealing.open(items, with: key))
    }

    /// Receives the next batch.
    func batch(
        _ frame: TransferFrame,
        checking check: ExchangeFile.Check
    ) throws(TransferFailure) -> ReceivedBatch {
        let (place, payload) = try open(frame)
        let file = try ExchangeFile(payload, checking: check)
        var next = self
        next.index += 1
        try next.arrive(file.passkeys)
        // Each batch has at least one passkey.
        guard place.isLast || next.index < accepted else { throw .malformed("more batches than passkeys") }
        return ReceivedBatch(file: file, isLast: place.isLast, payload: payload.hash, expected: next)
    }

    /// Removes passkeys from those that are missing, and refuses any that the user has not accepted.
    ///
    /// A passkey that comes once more is let through: the vault has it, and skips it.
    private mutating func arrive(_ passkeys: [ExchangedPasskey]) throws(TransferFailure) {
        for passkey in passkeys where arrived.insert(passkey.id).inserted {
            let offered = OfferedPasskey(passkey)
            guard let count = missing[offered], count > 0 else { throw .malformed("a passkey that was not accepted") }
            missing[offered] = count - 1
        }
    }
}

extension ExchangeFile {
    /// Reads the document of a payload.
    init(_ payload: OpenedPayload, checking check: Check) throws(TransferFailure) {
        var bytes = Array(payload.content.memory)
        defer { SecretBytes.wipe(&bytes) }
        do throws(ParseError) {
            try self.init(document: bytes, checking: check)
        } catch {
            throw .malformed(error.reason)
        }
        let count = passkeys.count + skipped.reduce(0) { $0 + $1.count }
        guard (1...GiftBatch.maximumCount).contains(count) else {
            throw .malformed("a batch has 1 to \(GiftBatch.maximumCount) passkeys")
        }
    }
}
