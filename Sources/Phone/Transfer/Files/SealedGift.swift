// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
package import HybridCredentialExchange
package import HybridPrimitives

/// Passkeys as a file that only the author of a request can open.
///
/// The file is a JSON object with the giver's `name`, the hash of the `request`, and the `batches` with the members that
/// they have in messages. There is no channel, so nothing proves who wrote it: the user must know where it comes from.
package struct SealedGift: Sendable {
    /// Maximum length of a file in bytes.
    package static let maximumLength = 16 << 20

    /// The name of the giver; untrusted text in quotation marks.
    package let name: SafeText
    /// The request that it answers.
    package let request: RequestHash
    private let batches: [TransferredItems]

    /// Reads a file of at most 16 MiB.
    package init(parsing bytes: [UInt8]) throws(TransferFailure) {
        guard bytes.count <= Self.maximumLength else { throw .malformed("the file is longer than 16 MiB") }
        do {
            let text = try JSONText(parsing: bytes)
            guard text.member("hpke") == nil else {
                throw TransferFailure.malformed("the file is a request and not a gift")
            }
            let file = JSONCursor(text, named: "the file")
            guard try file.member("version").integer() == TransferMessage.version else { throw TransferFailure.version }
            name = SafeText(quoting: try file.member("name").text)
            request = try file.member("request").value(RequestHash.self)
            let entries = try file.member("batches").elements
            guard (1...TransferOffer.maximumCount).contains(entries.count) else {
                throw TransferFailure.malformed("a gift has 1 to \(TransferOffer.maximumCount) batches")
            }
            batches = try entries.enumerated().map { try TransferredItems($1, index: UInt32($0)) }
        } catch {
            throw TransferFailure(reading: error)
        }
    }

    /// Opens all batches.
    ///
    /// - Parameters:
    ///   - pending: The secret of the request.
    ///   - check: A check of the vault, which may skip a passkey.
    /// - Throws: ``TransferFailure/notAuthentic`` if the gift is for another request, damaged or incomplete.
    package func open(
        with pending: PendingRequest,
        checking check: ExchangeFile.Check
    ) throws(TransferFailure) -> [ExchangeFile] {
        guard pending.request == request else { throw .notAuthentic }
        let sealing = PayloadSealing(.give, binding: request.bytes)
        var files: [ExchangeFile] = []
        for (index, items) in batches.enumerated() {
            guard items.place.isLast == (index == batches.count - 1) else { throw .notAuthentic }
            files.append(try ExchangeFile(try sealing.open(items, with: pending.key), checking: check))
        }
        guard files.reduce(0, { $0 + $1.count }) <= TransferOffer.maximumCount else {
            throw .malformed("a gift has at most \(TransferOffer.maximumCount) passkeys")
        }
        return files
    }

    /// Returns the file with passkeys for a request.
    ///
    /// - Parameters:
    ///   - passkeys: The passkeys.
    ///   - request: The request.
    ///   - name: The name of this device.
    ///   - time: The time in seconds since 1970.
    /// - Throws: ``TransferFailure/nothingToGive``, ``TransferFailure/tooLong``, ``TransferFailure/tooLarge(_:)``.
    package static func seal(
        _ passkeys: [ExchangedPasskey],
        for request: ReceivedRequest,
        name: String,
        time: UInt64
    ) throws(TransferFailure) -> [UInt8] {
        guard !passkeys.isEmpty else { throw .nothingToGive }
        guard passkeys.count <= TransferOffer.maximumCount else { throw .tooLong }
        let sealing = PayloadSealing(.give, binding: request.hash.bytes)
        let batches = try GiftBatch.split(passkeys)
        let sequence = GiftSequence(batches: batches, time: time, sealing: sealing, request: request.request)
        var entries: [JSONText] = []
        for index in batches.indices { entries.append(.object(try sequence.items(index).0.members)) }
        let members: [(String, JSONText)] = [
            ("version", .number(TransferMessage.version)), ("name", .string(SafeText(quoting: name).unquoted)),
            ("request", .bytes(request.hash.bytes)), ("batches", .array(entries)),
        ]
        let bytes = Array((JSONText.object(members).description + "\n").utf8)
        guard bytes.count <= maximumLength else { throw .tooLong }
        return bytes
    }
}
