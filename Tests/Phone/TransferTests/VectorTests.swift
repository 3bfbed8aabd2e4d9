// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridCaBLE
import HybridCredentialExchange
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridTransfer

/// The counterpart in Python computed these values, with an implementation of HPKE of its own.
@Suite("The vectors of transfers")
struct TransferVectorTests {
    private let vectors: JSONValue

    init() throws { vectors = try VectorFile.load("transfer-messages.json") }

    @Test("Digits, commitments and tags of vaults")
    func digits() throws {
        for vector in try vectors.list("digits") {
            let receiver = TransferNonce(checked: try vector.hex("receiver"))
            let binding = TransferBinding(
                hash: HandshakeHash(checked: try vector.hex("hash")),
                receiver: receiver,
                giver: TransferNonce(checked: try vector.hex("giver"))
            )
            #expect(TransferDigits(binding).description == (try vector.text("digits")))
            #expect(receiver.commitment.bytes == (try vector.hex("commitment")))
            let vault = TransferVault(fingerprint: "0000", id: try vector.hex("vault"))
            #expect(binding.tag(of: vault).bytes == (try vector.hex("tag")))
        }
    }

    @Test("Sealed payloads")
    func payloads() throws {
        for vector in try vectors.list("payloads") {
            let key = RequestKey(checked: try vector.hex("private"))
            let purpose = try #require(TransferPurpose(rawValue: try vector.text("purpose")))
            let sealing = PayloadSealing(purpose, binding: try vector.hex("binding"))
            let index = UInt32(try vector.number("index"))
            let items = try TransferredItems(frame(vector.text("items")), index: index)
            #expect(items.place.associatedData == (try vector.hex("data")))
            #expect(items.place.isLast == (try vector.boolean("last")))
            let opened = try sealing.open(items, with: key)
            #expect(Array(opened.content.memory) == (try vector.hex("payload")))
            #expect(opened.hash.bytes == (try vector.hex("sha256")))

            let json = JSONCursor(try JSONText(parsing: Array(try vector.text("request").utf8)), named: "it")
            let request = try ExportRequest(json)
            #expect(Array(request.parameters.key.rawRepresentation) == (try vector.hex("public")))
            let own = ExportRequest(for: key).parameters.key
            #expect(own.rawRepresentation == request.parameters.key.rawRepresentation)
        }
    }

    @Test("Files")
    func files() throws {
        let file = try vectors.value("file")
        let request = Array(try file.text("request").utf8)
        let read = try ReceivedRequest(parsing: request)
        #expect(read.name.description == "\"Ada\"")
        #expect(read.hash.bytes == (try file.hex("sha256")))
        let gift = try SealedGift(parsing: Array(try file.text("gift").utf8))
        #expect(gift.name.description == "\"Bob\"" && gift.request == read.hash)
        let pending = PendingRequest(key: RequestKey(checked: try file.hex("private")), request: read.hash)
        let passkeys = try gift.open(with: pending, checking: Session.takeAll).flatMap(\.passkeys)
        let ids = passkeys.map { JSONValue.text(Base64URL.encode($0.id.credential.bytes)) }
        #expect(ids == (try file.list("ids")))
    }

    private func frame(_ text: String) throws -> TransferFrame { try TransferFrame(padding: Array(text.utf8)) }
}
