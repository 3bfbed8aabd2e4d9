// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCBOR
import HybridCaBLE
import HybridCommandSupport
import HybridPrimitives
import HybridProgram
import HybridSession
import TestSupport
import Testing

@testable import HybridPhoneLinks

@Suite("The phone's store of links")
struct PhoneLinkStoreTests {
    /// Returns an active record with all members, and a forgotten one.
    private static func records() throws -> [StoredPhoneLink] {
        var active = try Sample.record(label: "Büro")
        _ = active.change { activity in
            activity.lastUsed = 5000
            for number in [3, 1, UInt64.max] { _ = activity.numbers.count(number) }
            _ = activity.programs.add(at: 4000)
            for time in 5000...5002 as ClosedRange<UInt64> { _ = activity.guests.add(at: time) }
        }
        var forgotten = try Sample.record()
        forgotten.state = .forgotten(StoredPhoneLink.Revocation(time: 6000, isConfirmed: true))
        var pushed = try Sample.record()
        pushed.push = try Sample.registration()
        return [active, forgotten, pushed]
    }

    @Test("A record survives a round trip through its file")
    func roundTrip() throws {
        for record in try Self.records() + [Sample.record()] {
            let bytes = PhoneLinkFile.encode(record)
            let read = try #require(PhoneLinkFile.decode(bytes))
            #expect(PhoneLinkFile.encode(read) == bytes)
            #expect(read.id == record.id && read.label == record.label && read.created == record.created)
            #expect(read.domain == record.domain && read.revocation == record.revocation)
            #expect(read.contactKey.publicKey == record.contactKey.publicKey)
            #expect(read.link?.secret == record.link?.secret && (read.link == nil) == (record.link == nil))
            #expect(read.activity?.lastUsed == record.activity?.lastUsed)
            #expect(read.activity?.numbers == record.activity?.numbers)
            for requester in Requester.allCases {
                #expect(read.activity?[requester] == record.activity?[requester])
            }
            #expect(read.push?.sealed == record.push?.sealed && read.push?.isEnded == record.push?.isEnded)
        }
    }

    @Test("A damaged file is rejected")
    func damage() throws {
        for record in try Self.records() {
            let bytes = PhoneLinkFile.encode(record)
            for damaged in Damage.truncations(of: bytes) + Damage.someBitFlips(of: bytes) + [bytes + [0]] {
                #expect(PhoneLinkFile.decode(damaged) == nil)
            }
        }
    }

    @Test("A link of the first version is refused with a remedy")
    func outdated() async throws {
        try await TestFolder.with { folder in
            let store = try PhoneLinkStore(path: folder.path + "/phone")
            let record = try Sample.record()
            try store.add(record)
            let file = try #require(TestFile.contents(below: folder.path).keys.first { $0.hasSuffix(".cbor") })
            var map = try #require(CBORDecoder.decode(PhoneLinkFile.encode(record).dropLast(32), mode: .strict).map)
            (map[0], map[8], map[9], map[10]) = (1, .bytes([UInt8](repeating: 0, count: 16 * 1024)), [], false)
            let body = CBOREncoder.encode(map)
            try Data(body + SHA256.hash(data: body)).write(to: URL(fileURLWithPath: folder.path + "/" + file))
            let damaged = try store.contents().damaged
            #expect(damaged.count == 1 && damaged[0].hasSuffix("; delete it, and link the computer again"))
            #expect(damaged[0].contains("is from an older version"))
        }
    }

    @Test("Each number is counted once, in any order within the window")
    func numbers() {
        var random = SeededGenerator()
        var numbers = WakeUpNumbers()
        var counted: Set<UInt64> = []
        var highest: UInt64 = 0
        for _ in 0..<10_000 {
            let number = UInt64.random(in: (highest > 80 ? highest - 80 : 0)...highest + 3, using: &random)
            let isNew = !counted.contains(number) && (number > highest || highest - number < 64)
            #expect(numbers.isNew(number) == isNew && numbers.count(number) == isNew, "\(random)")
            if isNew { counted.insert(number) }
            highest = max(highest, isNew ? number : 0)
            #expect(numbers.highest == highest)
        }
        #expect(numbers.count(.max) && !numbers.count(.max) && !numbers.count(highest))
        #expect(numbers.count(.max - 63) && !numbers.count(.max - 64))
    }

    @Test("The identity is created once, and a damaged one is not replaced")
    func identity() async throws {
        try await TestFolder.with { folder in
            let path = folder.path + "/a/phone"
            let identity = try PhoneLinkStore(path: path).identity()
            let again = try PhoneLinkStore(path: path).identity()
            #expect(identity.withUnsafeBytes { Array($0) } == again.withUnsafeBytes { Array($0) })
            let file = path + "/identity"
            let bytes = try #require(FileManager.default.contents(atPath: file))
            for damaged in [Data(), bytes.dropLast(), bytes + [0], Data(bytes.reversed())] {
                try damaged.write(to: URL(fileURLWithPath: file))
                let error = #expect(throws: CommandFailure.self) { try PhoneLinkStore(path: path).identity() }
                #expect(error?.code == "link-damaged" && error?.sentence.contains(file) == true)
            }
        }
    }

    @Test("Links are listed, renamed and forgotten; a damaged file is reported and harms no other")
    func links() async throws {
        try await TestFolder.with { folder in
            let store = try PhoneLinkStore(path: folder.path + "/phone")
            let (older, newer) = (try Sample.record(created: 1), try Sample.record(label: "desk", created: 2))
            try store.add(newer)
            try store.add(older)
            #expect(try store.contents().links.map(\.id) == [older.id, newer.id])
            try store.rename(older.id, to: "attic")
            #expect(try store.record(older.id)?.label == "attic")

            let secret = try #require(newer.link?.secret).withUnsafeBytes { Data($0) }
            let file = "\(store.path)/\(Hex.encode(newer.id.bytes)).cbor"
            #expect(try #require(FileManager.default.contents(atPath: file)).range(of: secret) != nil)
            try store.forget(newer.id, at: 3)
            #expect(try #require(FileManager.default.contents(atPath: file)).range(of: secret) == nil)
            #expect(try store.contents().links.map(\.id) == [older.id])
            #expect(try store.contents().revocations.map(\.revocation) == [.init(time: 3, isConfirmed: false)])
            try store.confirmRevocation(newer.id)
            try store.forget(newer.id, at: 4)
            #expect(try store.record(newer.id)?.revocation == .init(time: 3, isConfirmed: true))

            let damaged = "\(store.path)/0000000000000000.cbor"
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: damaged))
            let contents = try store.contents()
            #expect(contents.links.map(\.id) == [older.id] && contents.revocations.count == 1)
            #expect(contents.damaged.count == 1 && contents.damaged[0].hasPrefix("\(damaged) is damaged; "))
        }
    }

    @Test("A label that a link has already gets a number, unless it would be too long")
    func freeLabels() async throws {
        try await TestFolder.with { folder in
            let store = try PhoneLinkStore(path: folder.path + "/links")
            let longest = String(repeating: "a", count: StoredPhoneLink.maximumLabelLength)
            #expect(try store.freeLabel("laptop") == "laptop")
            for label in ["laptop", "laptop 2", longest] { try store.add(try Sample.record(label: label)) }
            #expect(try store.freeLabel("laptop") == "laptop 3")
            #expect(try store.freeLabel("studio") == "studio")
            #expect(try store.freeLabel(longest) == longest)
        }
    }

    @Test("Files are private, and at most 32 computers are linked")
    func limits() async throws {
        try await TestFolder.with { folder in
            let store = try PhoneLinkStore(path: folder.path + "/phone")
            _ = try store.identity()
            for _ in 0..<PhoneLinkStore.maximumCount { try store.add(try Sample.record()) }
            #expect(throws: CommandFailure.self) { try store.add(try Sample.record()) }
            for name in try FileManager.default.contentsOfDirectory(atPath: store.path) {
                let attributes = try FileManager.default.attributesOfItem(atPath: "\(store.path)/\(name)")
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
            }
        }
    }

    @Test("A revocation is dropped after a year")
    func oldRevocations() async throws {
        try await TestFolder.with { folder in
            let store = try PhoneLinkStore(path: folder.path + "/phone")
            let (old, new) = (try Sample.record(), try Sample.record())
            for record in [old, new] { try store.add(record) }
            try store.forget(old.id, at: 1000)
            #expect(try store.record(old.id) != nil)
            try store.forget(new.id, at: 1001 + PhoneLinkStore.revocationLifetime)
            #expect(try store.contents().revocations.map(\.id) == [new.id])
        }
    }

    @Test("A label is short and has no control characters")
    func labels() throws {
        let link = try Sample.link()
        for label in ["", "a\nb", "\u{1B}[1m", "\u{7F}", String(repeating: "a", count: 129)] {
            #expect(StoredPhoneLink(link, label: label, created: 1) == nil)
        }
        #expect(StoredPhoneLink(link, label: String(repeating: "a", count: 128), created: 1) != nil)
    }

    @Test("Links and identities are never printed")
    func hidden() throws {
        let record = try Sample.record()
        #expect("\(record)" == "StoredPhoneLink(hidden)" && "\(PhoneIdentity())" == "PhoneIdentity(hidden)")
        #expect(String(reflecting: try Sample.link()) == "PhoneLink(hidden)")
    }
}
