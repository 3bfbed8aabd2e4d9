// SPDX-License-Identifier: Apache-2.0

import ExchangeTestSupport
import HybridAuthenticator
import HybridCTAP
import HybridCaBLE
import HybridCredentialExchange
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridTransfer

@Suite("Batches and confirmations that break a rule")
struct HostileBatchTests {
    /// Returns the frame of a payload that a giver of this session seals.
    private func frame(
        _ payload: [UInt8],
        _ sent: SentBatch,
        index: UInt32 = 0,
        isLast: Bool = true
    ) throws -> TransferFrame {
        try payload.withUnsafeBytes { bytes in
            let place = PayloadPlace(index: index, isLast: isLast)
            return try sent.sequence.sealing.seal(bytes, at: place, for: sent.sequence.request).frame()
        }
    }

    @Test("A passkey that was not accepted is refused")
    func other() throws {
        let passkeys = try [passkey(1), passkey(2)]
        let (awaited, sent) = try Session().accepted(passkeys, which: [0])
        for other in [passkeys[1], try passkey(1, site: "bank.example"), try passkey(1, user: "mallory")] {
            let payload = document([other])
            #expect(throws: TransferFailure.malformed("a passkey that was not accepted")) {
                _ = try awaited.receive(frame(payload, sent), checking: Session.takeAll)
            }
        }
        _ = try awaited.receive(frame(document([passkeys[0]]), sent), checking: Session.takeAll)
    }

    @Test("A passkey that comes twice is let through, because the vault skips it")
    func twice() throws {
        let one = try passkey(1)
        let (awaited, sent) = try Session().accepted([one])
        let batch = try awaited.receive(frame(document([one, one]), sent), checking: Session.takeAll)
        #expect(batch.file.count == 2)
        #expect(try member(batch.stored([one.id]).frame, "ids")?.elements?.count == 1)
    }

    @Test("Two passkeys of one label are two, not three")
    func counted() throws {
        let (awaited, sent) = try Session().accepted([passkey(1, user: "a"), passkey(2, user: "a")])
        let third = try [passkey(1, user: "a"), passkey(2, user: "a"), passkey(3, user: "a")]
        #expect(throws: TransferFailure.self) {
            _ = try awaited.receive(frame(document(third), sent), checking: Session.takeAll)
        }
    }

    @Test("Documents that are malformed, of another format or empty are refused")
    func documents() throws {
        let (awaited, sent) = try Session().accepted([passkey(1)])
        let empty = Exchange.document(credentials: "")
        let bitwarden = try Exchange.file("bitwarden.json")
        let archive = try Exchange.file("cxp.zip")
        let newer = Exchange.document(credentials: Exchange.passkey(), version: #"{"major":2,"minor":0}"#)
        for payload in [[], Array("{}".utf8), Array("[".utf8), empty, bitwarden, archive, newer] {
            let items = try frame(payload, sent)
            do throws(TransferFailure) {
                _ = try awaited.receive(items, checking: Session.takeAll)
                Issue.record("\(payload.count) bytes are taken")
            } catch {
                #expect(error != .malformed("a passkey that was not accepted"), "it was read")
            }
        }
    }

    @Test("More than 64 passkeys in a batch are refused, also if they are skipped")
    func tooMany() throws {
        let passkeys = try (0..<65).map { try passkey($0) }
        let (awaited, sent) = try Session().accepted(passkeys)
        let all = try frame(document(passkeys), sent)
        #expect(throws: TransferFailure.self) { _ = try awaited.receive(all, checking: Session.takeAll) }
        #expect(throws: TransferFailure.self) {
            _ = try awaited.receive(all) { _ throws(SkippedCredential) in throw SkippedCredential("that is skipped") }
        }
        _ = try awaited.receive(frame(document(Array(passkeys.dropLast())), sent), checking: Session.takeAll)
    }

    @Test("A payload of more than 512 KiB is refused before it is decrypted")
    func tooLong() throws {
        let (awaited, sent) = try Session().accepted([passkey(1)])
        let long = [UInt8](repeating: 0x20, count: PayloadSealing.maximumLength + 1)
        let items = try frame(long, sent)
        #expect(throws: TransferFailure.self) { _ = try awaited.receive(items, checking: Session.takeAll) }
        do throws(TransferFailure) {
            _ = try TransferredItems(items, index: 0)
            Issue.record("the message is refused")
        } catch {
            #expect(error.sentence.contains("payload"))
        }
    }

    @Test("Batches are received in their order, each once")
    func order() throws {
        let passkeys = try (0..<70).map { try passkey($0) }
        let (awaited, first) = try Session().accepted(passkeys)
        let batch = try awaited.receive(first.frame, checking: Session.takeAll)
        let stored = batch.stored(Set(batch.file.passkeys.map(\.id)))
        let second = try #require(try first.receive(stored.frame).next())
        #expect(throws: TransferFailure.self) { _ = try awaited.receive(second.frame, checking: Session.takeAll) }
        #expect(throws: TransferFailure.self) { _ = try stored.receive(first.frame, checking: Session.takeAll) }
        #expect(throws: TransferFailure.self) { try stored.receiveDone(ConfirmedBatch.done) }
        let renumbered = try changing(first.frame, "index", to: .number(1))
        #expect(throws: TransferFailure.notAuthentic) {
            _ = try stored.receive(renumbered, checking: Session.takeAll)
        }
        let last = try stored.receive(second.frame, checking: Session.takeAll)
        let end = last.stored([])
        #expect(throws: TransferFailure.self) { _ = try end.receive(second.frame, checking: Session.takeAll) }
        #expect(throws: TransferFailure.self) { try end.receiveDone(second.frame) }
        try end.receiveDone(ConfirmedBatch.done)
    }

    @Test("The end can't be moved: the last batch is marked under the seal")
    func last() throws {
        let (awaited, sent) = try Session().accepted([passkey(1), passkey(2)])
        let open = try changing(sent.frame, "last", to: .boolean(false))
        #expect(throws: TransferFailure.notAuthentic) { _ = try awaited.receive(open, checking: Session.takeAll) }
    }

    @Test("Batches without end are refused")
    func endless() throws {
        let one = try passkey(1)
        let (awaited, sent) = try Session().accepted([one])
        #expect(throws: TransferFailure.malformed("more batches than passkeys")) {
            _ = try awaited.receive(frame(document([one]), sent, isLast: false), checking: Session.takeAll)
        }
    }

    @Test("A batch of another session is refused")
    func otherSession() throws {
        let one = try passkey(1)
        let (awaited, sent) = try Session().accepted([one])
        let (_, other) = try Session().accepted([one])
        #expect(throws: TransferFailure.notAuthentic) {
            _ = try awaited.receive(other.frame, checking: Session.takeAll)
        }
        // Even with the key of this session.
        let foreign = GiftSequence(
            batches: other.sequence.batches,
            time: 0,
            sealing: other.sequence.sealing,
            request: sent.sequence.request
        )
        let replayed = try foreign.batch(0)
        #expect(throws: TransferFailure.notAuthentic) {
            _ = try awaited.receive(replayed.frame, checking: Session.takeAll)
        }
    }

    @Test("A changed bit of a sealed payload is refused")
    func bits() throws {
        let (awaited, sent) = try Session().accepted([passkey(1)])
        let items = try TransferredItems(sent.frame, index: 0)
        let key = awaited.expected
        for payload in Damage.someBitFlips(of: items.response.payload) {
            let response = ExportResponse(parameters: items.response.parameters, payload: payload)
            let changed = try TransferredItems(place: items.place, response: response).frame()
            #expect(throws: TransferFailure.notAuthentic) { _ = try key.open(changed) }
        }
        for payload in Damage.truncations(of: items.response.payload).suffix(40) {
            let response = ExportResponse(parameters: items.response.parameters, payload: payload)
            let changed = try TransferredItems(place: items.place, response: response).frame()
            #expect(throws: TransferFailure.notAuthentic) { _ = try key.open(changed) }
        }
    }

    @Test("A message with a changed bit is refused, or means the same")
    func messageBits() throws {
        let one = try passkey(1)
        let (awaited, sent) = try Session().accepted([one])
        for bytes in Damage.someBitFlips(of: sent.frame.bytes) {
            let frame = TransferFrame(received: bytes)
            guard let batch = try? awaited.receive(frame, checking: Session.takeAll) else { continue }
            #expect(document(batch.file.passkeys) == document([one]) && batch.isLast)
        }
    }

    @Test("A confirmation of other passkeys or of another payload removes nothing")
    func confirmations() throws {
        let passkeys = try [passkey(1), passkey(2)]
        let (awaited, sent) = try Session().accepted(passkeys)
        let batch = try awaited.receive(sent.frame, checking: Session.takeAll)
        let frame = batch.stored(Set(passkeys.map(\.id))).frame
        let first = JSONText.bytes(passkeys[0].id.credential.bytes)
        let lists: [[JSONText]] = [[.bytes([7])], [first, first], [first, .bytes([7])]]
        for ids in lists {
            let changed = try changing(frame, "ids", to: .array(ids))
            #expect(throws: TransferFailure.unconfirmed) { _ = try sent.receive(changed) }
        }
        let tooMany = JSONText.array([JSONText](repeating: first, count: 65))
        for ids in [JSONText.string("all"), .array([.string("")]), .array([.string("=")]), tooMany] {
            let changed = try changing(frame, "ids", to: ids)
            #expect(throws: TransferFailure.self) { _ = try sent.receive(changed) }
        }
        let hash = try changing(frame, "sha256", to: .bytes([UInt8](repeating: 0, count: 32)))
        #expect(throws: TransferFailure.unconfirmed) { _ = try sent.receive(hash) }
        #expect(TransferFailure.unconfirmed.refusal == .malformed)
        #expect(try sent.receive(frame).stored.count == 2)
    }
}

extension ConfirmedBatch {
    /// The last message.
    static var done: TransferFrame { TransferMessage.shortFrame(.done) }
}
