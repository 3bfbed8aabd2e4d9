// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCaBLE
internal import HybridPrimitives

/// One sealed payload of a transfer: a batch of passkeys, or the key of a vault.
struct TransferredItems {
    /// The place of the payload in the transfer.
    let place: PayloadPlace
    let response: ExportResponse

    init(place: PayloadPlace, response: ExportResponse) { (self.place, self.response) = (place, response) }

    /// Reads the message with the payload of this index.
    init(_ frame: TransferFrame, index: UInt32) throws(TransferFailure) {
        self = try TransferMessage.read(frame, as: .items) { try TransferredItems($0, index: index) }
    }

    /// Reads the members of a message, or of an entry of a file.
    init(_ json: JSONCursor, index: UInt32) throws {
        guard try json.member("index").integer(UInt32.self) == index else {
            throw TransferFailure.malformed("not the payload \(index), which comes next")
        }
        place = PayloadPlace(index: index, isLast: try json.member("last").boolean)
        response = try ExportResponse(json.member("response"))
    }

    var members: [(String, JSONText)] {
        [("index", .number(Int(place.index))), ("last", .boolean(place.isLast)), ("response", response.json)]
    }

    func frame() throws(TransferFailure) -> TransferFrame { try TransferMessage.frame(.items, members) }
}

/// The receiver's confirmation that a payload is stored durably.
struct StoredItems {
    /// Passkeys of the payload that are in the receiver's vault now, also if they were there already.
    let ids: [CredentialID]
    /// The hash of the payload as the receiver opened it.
    let payload: PayloadHash

    init(ids: [CredentialID], payload: PayloadHash) { (self.ids, self.payload) = (ids, payload) }

    init(_ frame: TransferFrame) throws(TransferFailure) {
        self = try TransferMessage.read(frame, as: .stored) { message in
            let list = try message.member("ids").elements
            guard list.count <= GiftBatch.maximumCount else {
                throw TransferFailure.malformed("a batch has at most \(GiftBatch.maximumCount) passkeys")
            }
            let ids = try list.map { json in
                guard let id = CredentialID(bytes: try json.bytes(atMost: CredentialID.maximumLength)) else {
                    throw TransferFailure.malformed("\(json.path) is empty")
                }
                return id
            }
            return StoredItems(ids: ids, payload: try message.member("sha256").value(PayloadHash.self))
        }
    }

    var frame: TransferFrame {
        // 64 IDs of 1,023 bytes are less than 100 KiB.
        TransferMessage.shortFrame(
            .stored,
            [("ids", .array(ids.map { .bytes($0.bytes) })), ("sha256", .bytes(payload.bytes))]
        )
    }
}
