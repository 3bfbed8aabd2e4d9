// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridCredentialExchange
internal import HybridPrimitives

/// Passkeys of one payload: at most 64, which fit into it, and no two with the same credential ID.
///
/// A receiver confirms credential IDs only. So each must be unique in its batch.
struct GiftBatch: Sendable {
    /// Maximum number of passkeys.
    static let maximumCount = 64

    private(set) var passkeys: [ExchangedPasskey] = []
    /// An upper limit of the length of the document, in bytes.
    private(set) var length = 0

    /// Splits passkeys into batches, in their order.
    ///
    /// - Throws: ``TransferFailure/tooLarge(_:)`` if one does not fit into a batch.
    static func split(_ passkeys: [ExchangedPasskey]) throws(TransferFailure) -> [GiftBatch] {
        var batches: [GiftBatch] = []
        for passkey in passkeys {
            // The document of this passkey alone is longer than what it adds to another one.
            let length = document([passkey], time: .max) { $0.count }
            guard length <= PayloadSealing.maximumLength else {
                throw .tooLarge(passkey.passkey.relyingParty.text)
            }
            if batches.last?.hasRoom(for: passkey, length) != true { batches.append(GiftBatch()) }
            batches[batches.count - 1].append(passkey, length)
        }
        return batches
    }

    private func hasRoom(for passkey: ExchangedPasskey, _ length: Int) -> Bool {
        passkeys.count < Self.maximumCount && self.length + length <= PayloadSealing.maximumLength
            && !passkeys.contains { $0.id.credential == passkey.id.credential }
    }

    private mutating func append(_ passkey: ExchangedPasskey, _ length: Int) {
        passkeys.append(passkey)
        self.length += length
    }

    /// Calls `body` with the document of this batch, which is wiped afterwards.
    func document<Value, Failure: Error>(
        time: UInt64,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try Self.document(passkeys, time: time, body)
    }

    private static func document<Value, Failure: Error>(
        _ passkeys: [ExchangedPasskey],
        time: UInt64,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var writer = JSONWriter()
        defer { writer.wipe() }
        let items = passkeys.map { (item: itemID(of: $0), passkey: $0) }
        ExchangeDocument.write(items, account: [0], time: time, to: &writer)
        return try writer.bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
            try body(UnsafeRawBufferPointer(bytes))
        }
    }

    /// Returns the ID of a passkey's item, which is the same in each document.
    private static func itemID(of passkey: ExchangedPasskey) -> [UInt8] {
        let site = Array(passkey.passkey.relyingParty.text.utf8)
        return Array(SHA256.hash(data: site + [0] + passkey.id.credential.bytes).prefix(16))
    }
}
