// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import HybridCredentialExchange
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridTransfer

@Suite("Requests and gifts as files")
struct TransferFileTests {
    private let request = SealedRequest(name: "Ada's laptop")

    private func gift(_ passkeys: [ExchangedPasskey]) throws -> [UInt8] {
        let read = try ReceivedRequest(parsing: request.bytes)
        #expect(read.name.description == "\"Ada's laptop\"")
        return try SealedGift.seal(passkeys, for: read, name: "Bob", time: 1_800_000_000)
    }

    @Test("give passkeys as they were")
    func roundTrip() throws {
        let passkeys = try (0..<70).map { try passkey($0) }
        let gift = try SealedGift(parsing: gift(passkeys))
        #expect(gift.name.description == "\"Bob\"" && gift.request == request.pending.request)
        let files = try gift.open(with: request.pending, checking: Session.takeAll)
        #expect(files.map(\.count) == [64, 6])
        #expect(document(files.flatMap(\.passkeys)) == document(passkeys))
    }

    @Test("contain no name of a site, and no key")
    func sealed() throws {
        let text = String(decoding: try gift([passkey(1)]), as: UTF8.self)
        #expect(!text.contains("example.com") && !text.contains("user 1"))
        let key = request.pending.key.withUnsafeBytes { Base64URL.encode($0) }
        #expect(!String(decoding: request.bytes, as: UTF8.self).contains(key))
        #expect("\(request.pending)" == "PendingRequest(hidden)")
    }

    @Test("open with the state that was kept")
    func state() throws {
        let gift = try SealedGift(parsing: gift([passkey(1)]))
        let kept = request.pending.withUnsafeBytes { Array($0) }
        #expect(kept.count == 64)
        let pending = try #require(PendingRequest(bytes: kept))
        #expect(try gift.open(with: pending, checking: Session.takeAll).count == 1)
    }

    @Test("don't open for another request, nor for one that was changed")
    func otherRequest() throws {
        let gift = try SealedGift(parsing: gift([passkey(1)]))
        let other = SealedRequest(name: "Ada's laptop").pending
        let mixed = PendingRequest(key: other.key, request: request.pending.request)
        for pending in [other, mixed] {
            #expect(throws: TransferFailure.notAuthentic) {
                _ = try gift.open(with: pending, checking: Session.takeAll)
            }
        }
        // A request with another name, and with the same key.
        let changed = try edited(request.bytes, "name", to: .string("Eve"))
        let read = try ReceivedRequest(parsing: changed)
        let answer = try SealedGift.seal([passkey(1)], for: read, name: "Bob", time: 0)
        let renamed = try edited(answer, "request", to: .bytes(request.pending.request.bytes))
        #expect(throws: TransferFailure.notAuthentic) {
            _ = try SealedGift(parsing: renamed).open(with: request.pending, checking: Session.takeAll)
        }
    }

    @Test("are refused if a batch is missing, moved or repeated")
    func batches() throws {
        let bytes = try gift((0..<130).map { try passkey($0) })
        let entries = try #require(JSONText(parsing: bytes).member("batches")?.elements)
        #expect(entries.count == 3)
        let lists = [
            [], [entries[0]], [entries[0], entries[1]], [entries[1], entries[2]], [entries[1], entries[0], entries[2]],
            [entries[0], entries[0], entries[2]], entries + [entries[2]],
        ]
        for list in lists {
            let changed = try edited(bytes, "batches", to: .array(list))
            #expect(throws: TransferFailure.self) {
                _ = try SealedGift(parsing: changed).open(with: request.pending, checking: Session.takeAll)
            }
        }
        guard case .object(var last) = entries[1] else { throw TransferFailure.failed }
        last.removeAll { $0.0 == "last" }
        let ended = try edited(bytes, "batches", to: .array([entries[0], .object(last + [("last", .boolean(true))])]))
        #expect(throws: TransferFailure.notAuthentic) {
            _ = try SealedGift(parsing: ended).open(with: request.pending, checking: Session.takeAll)
        }
    }

    @Test("that are truncated are refused")
    func truncated() throws {
        let bytes = try gift([passkey(1)])
        for part in Damage.truncations(of: Array(bytes.dropLast())).enumerated() where part.offset.isMultiple(of: 11) {
            #expect(throws: TransferFailure.self) { _ = try SealedGift(parsing: part.element) }
        }
        for part in Damage.truncations(of: Array(request.bytes.dropLast())) {
            #expect(throws: TransferFailure.self) { _ = try ReceivedRequest(parsing: part) }
        }
    }

    @Test("that are confused with each other are named")
    func confused() throws {
        #expect(throws: TransferFailure.malformed("the file is a request and not a gift")) {
            _ = try SealedGift(parsing: request.bytes)
        }
        #expect(throws: TransferFailure.malformed("the file is a gift and not a request")) {
            _ = try ReceivedRequest(parsing: gift([passkey(1)]))
        }
    }

    @Test("that are too long are refused")
    func tooLong() {
        let spaces = [UInt8](repeating: 0x20, count: ReceivedRequest.maximumLength)
        #expect(throws: TransferFailure.self) { _ = try ReceivedRequest(parsing: request.bytes + spaces) }
        let more = [UInt8](repeating: 0x20, count: SealedGift.maximumLength + 1)
        #expect(throws: TransferFailure.self) { _ = try SealedGift(parsing: more) }
    }

    @Test("of another version are refused")
    func version() throws {
        let gift = try edited(gift([passkey(1)]), "version", to: .number(2))
        #expect(throws: TransferFailure.version) { _ = try SealedGift(parsing: gift) }
        let request = try edited(request.bytes, "version", to: .number(1))
        #expect(throws: TransferFailure.version) { _ = try ReceivedRequest(parsing: request) }
    }

    private func edited(_ bytes: [UInt8], _ name: String, to value: JSONText) throws -> [UInt8] {
        guard case .object(var members) = try JSONText(parsing: bytes) else { throw TransferFailure.failed }
        members.removeAll { $0.0 == name }
        return Array(JSONText.object(members + [(name, value)]).description.utf8)
    }
}
