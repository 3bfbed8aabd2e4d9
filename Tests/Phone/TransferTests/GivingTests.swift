// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridCaBLE
import HybridCredentialExchange
import HybridPrimitives
import Testing

@testable import HybridTransfer

@Suite("Passkeys of a transfer")
struct GivingTests {
    @Test("arrive as they were given, in the same order")
    func roundTrip() throws {
        let passkeys = try [
            passkey(1), passkey(2, user: "ada\u{202E}@example.org <b>\"quoted\"</b>"), passkey(3, created: nil),
            passkey(4, site: "xn--bcher-kva.example", rest: [0xA1, 0x01, 0x02]), passkey(5, site: "ssh:git"),
            passkey(6, user: String(repeating: "long ", count: 200)), passkey(7, user: ""),
        ]
        let batches = try Session().give(passkeys)
        #expect(batches.count == 1)
        #expect(document(batches.flatMap(\.self)) == document(passkeys))
    }

    @Test("are described to the receiver's user before they arrive")
    func offer() throws {
        let (offer, _) = try Session().offered([passkey(1), passkey(2, site: "ssh:git", created: nil)], isMove: true)
        guard case .passkeys(let list, let bytes, let isMove) = offer.content else {
            Issue.record("the offer is about passkeys")
            return
        }
        #expect(list.map(\.relyingParty.text) == ["example.com", "ssh:git"])
        #expect(list.map(\.user.description) == ["\"user 1\"", "\"user 2\""])
        #expect(list.map(\.created) == [1_700_000_000, nil])
        #expect(isMove && bytes > 500 && bytes < 5000)
    }

    @Test("are only those that the receiver's user accepts")
    func some() throws {
        let passkeys = try (0..<6).map { try passkey($0) }
        let batches = try Session().give(passkeys, which: [1, 4])
        #expect(document(batches.flatMap(\.self)) == document([passkeys[1], passkeys[4]]))
    }

    @Test("come in batches of at most 64")
    func many() throws {
        let passkeys = try (0..<150).map { try passkey($0) }
        let batches = try Session().give(passkeys)
        #expect(batches.map(\.count) == [64, 64, 22])
        #expect(document(batches.flatMap(\.self)) == document(passkeys))
    }

    @Test("come in batches that fit into a message")
    func large() throws {
        let passkeys = try (0..<5).map { try passkey($0, rest: [UInt8](repeating: 0, count: 150 << 10)) }
        let batches = try Session().give(passkeys)
        #expect(batches.map(\.count) == [2, 2, 1])
    }

    @Test("with the same credential ID come in different batches, because only IDs are confirmed")
    func sameID() throws {
        let batches = try Session().give([passkey(1), passkey(1, site: "example.org"), passkey(2)])
        #expect(batches.map(\.count) == [1, 2])
    }

    @Test("can be 4,096, and no more")
    func limit() throws {
        let one = try passkey(1)
        let (_, giver) = try Session().compared()
        let approved = try giver.answer(.agreed)
        let most = [ExchangedPasskey](repeating: one, count: TransferOffer.maximumCount)
        let offer = try approved.offer(most, isMove: false, time: 0)
        #expect(offer.frame.bytes.count < 1 << 20)
        #expect(throws: TransferFailure.tooLong) { _ = try approved.offer(most + [one], isMove: false, time: 0) }
        #expect(throws: TransferFailure.nothingToGive) { _ = try approved.offer([], isMove: false, time: 0) }
    }

    @Test("that don't fit into a message are named, and nothing is sent")
    func tooLarge() throws {
        let (_, giver) = try Session().compared()
        let approved = try giver.answer(.agreed)
        let huge = try passkey(1, rest: [UInt8](repeating: 0, count: 400 << 10))
        #expect(throws: TransferFailure.tooLarge("example.com")) {
            _ = try approved.offer([passkey(2), huge], isMove: false, time: 0)
        }
    }

    @Test("that the receiver's vault can't hold are not confirmed, and stay with the giver")
    func notStored() throws {
        let passkeys = try [passkey(1), passkey(2), passkey(3)]
        let (awaited, sent) = try Session().accepted(passkeys)
        let batch = try awaited.receive(sent.frame) { passkey throws(SkippedCredential) in
            if passkey.id == passkeys[1].id { throw SkippedCredential("that does not fit") }
        }
        #expect(batch.file.skippedPasskeys.count == 1)
        // An ID that was not in the batch is never confirmed.
        let elsewhere = try passkey(1, site: "example.org").id
        let stored = batch.stored([passkeys[0].id, passkeys[1].id, elsewhere])
        let confirmed = try sent.receive(stored.frame)
        #expect(confirmed.stored.map(\.id) == [passkeys[0].id])
        #expect(confirmed.notStored.map(\.id) == [passkeys[1].id, passkeys[2].id])
    }

    @Test("are sealed: no message contains a private key or a credential ID")
    func sealed() throws {
        let one = try passkey(0x0102)
        let (offer, sentOffer) = try Session().offered([one])
        let awaited = try offer.answer(.agreed)
        let sent = try sentOffer.receive(awaited.frame)
        let texts = [sentOffer.frame, awaited.frame, sent.frame].map { String(decoding: $0.bytes, as: UTF8.self) }
        let log = texts.joined()
        #expect(!log.contains(Base64URL.encode(one.id.credential.bytes)))
        let der = Base64URL.encode(one.passkey.privateKey.derRepresentation)
        #expect(!log.contains(der.dropFirst(60).prefix(40)))
        let payload = try #require(try member(sent.frame, "response", "payload")?.text)
        let bytes = try #require(Base64URL.decode(payload))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("example.com"))
    }

    @Test("are never offered before the giver's user agrees")
    func consent() throws {
        let (_, giver) = try Session().compared()
        #expect(throws: TransferFailure.declined) { _ = try giver.answer(.declined) }
        #expect(throws: TransferFailure.digitsDiffer) { _ = try giver.answer(.digitsDiffer) }
    }

    @Test("are never accepted before the receiver's user agrees")
    func receiversConsent() throws {
        let (offer, _) = try Session().offered([passkey(1)])
        #expect(throws: TransferFailure.declined) { _ = try offer.answer(.declined) }
        #expect(throws: TransferFailure.digitsDiffer) { _ = try offer.answer(.digitsDiffer) }
    }

    @Test("are padded, so that a relay learns sizes only roughly")
    func padding() throws {
        let (awaited, sent) = try Session().accepted([passkey(1)])
        for frame in [awaited.frame, sent.frame] { #expect((frame.bytes.count + 2).isMultiple(of: 512)) }
    }
}

@Suite("The key of a vault in a transfer")
struct JoiningTests {
    @Test("arrives at the device that joins")
    func roundTrip() throws {
        let secret: [UInt8] = Array("what the vault made".utf8)
        let session = Session.joining()
        let (receiver, giver) = try session.compared()
        #expect(giver.receiver.vault == nil)
        let material = try #require(secret.withUnsafeBytes { VaultMaterial(copying: $0) })
        let offer = try giver.answer(.agreed).offer(vaultKey: material, fingerprint: "12345 67890", passkeys: 7)
        let received = try receiver.receive(offer.frame)
        #expect(received.content == .vault(fingerprint: "12345 67890", passkeys: 7))
        let awaited = try received.answer(.agreed)
        let sent = try offer.receive(awaited.frame)
        let vault = try awaited.receiveVault(sent.frame)
        #expect(vault.material.withUnsafeBytes { Array($0) } == secret)
        #expect(!String(decoding: sent.frame.bytes, as: UTF8.self).contains(Base64URL.encode(secret)))
        try sent.receive(vault.frame)
        try vault.receiveDone(sent.doneFrame)

        let other = try changing(vault.frame, "sha256", to: .bytes([UInt8](repeating: 0, count: 32)))
        #expect(throws: TransferFailure.unconfirmed) { try sent.receive(other) }
    }

    @Test("is offered for a code of that purpose only, and passkeys for the other one only")
    func purposes() throws {
        let material = try #require([1].withUnsafeBytes { VaultMaterial(copying: $0) })
        let giving = try Session().compared().giver.answer(.agreed)
        #expect(throws: TransferFailure.purpose(expected: .give)) {
            _ = try giving.offer(vaultKey: material, fingerprint: "1", passkeys: 1)
        }
        let joining = try Session.joining().compared().giver.answer(.agreed)
        #expect(throws: TransferFailure.purpose(expected: .join)) {
            _ = try joining.offer([passkey(1)], isMove: false, time: 0)
        }
    }

    @Test("has 1 byte to 512 KiB")
    func limits() {
        func material(_ count: Int) -> VaultMaterial? {
            [UInt8](repeating: 1, count: count).withUnsafeBytes { VaultMaterial(copying: $0) }
        }
        #expect(material(0) == nil)
        #expect(material(1) != nil && material(512 << 10) != nil)
        #expect(material(512 << 10 + 1) == nil)
    }
}
