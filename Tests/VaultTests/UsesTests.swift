// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import Testing

@testable import HybridVault

@Suite("The history of use")
struct UsesTests {
    private let site: RelyingPartyID

    init() throws { site = try #require(RelyingPartyID("example.com")) }

    @Test("UsageHistory come back whole, the last first, with the record of their passkey")
    func roundTrip() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        #expect(try await unlocked.uses().uses.isEmpty)
        let passkey = try Passkey.fresh()
        try await unlocked.add(passkey)
        let record = try #require(try await unlocked.entries().first?.record)
        try await unlocked.noteUse(for: site, .create, .done, credential: passkey.id)
        bench.wait(5)
        try await unlocked.noteUse(for: site, .signIn, .declined)
        let long = try #require(RelyingPartyID([String](repeating: "abcdefghijk", count: 20).joined(separator: ".")))
        bench.wait(5)
        try await unlocked.noteUse(for: long, .signIn, .noPasskey)
        let uses = try await bench.unlock().uses()
        #expect(uses.notes.isEmpty)
        #expect(uses.uses.map(\.outcome) == [.noPasskey, .declined, .done])
        #expect(uses.uses.map(\.operation) == [.signIn, .signIn, .create])
        #expect(uses.uses.map(\.relyingParty) == [long, site, site])
        #expect(uses.uses.map(\.time) == [1_700_000_010, 1_700_000_005, 1_700_000_000])
        #expect(uses.uses.map(\.record) == [nil, nil, record])
    }

    @Test("After 256 uses a new piece begins; none is lost")
    func segments() async throws {
        let bench = try Workbench()
        let vault = try bench.createWithoutPIN()
        for number in 0..<260 {
            let use = PasskeyUse(
                time: UInt64(number),
                relyingParty: site,
                operation: .signIn,
                outcome: .done,
                record: nil
            )
            try vault.files.append(use, key: bench.key)
        }
        let device = try #require(try FileSystem.names(bench.vault + "/uses").first)
        #expect(try FileSystem.names(bench.vault + "/uses/" + device) == ["1", "2"])
        #expect(try vault.files.uses(key: bench.key).uses.map(\.time) == (0..<260).reversed().map { UInt64($0) })
    }

    @Test("Histories of two devices unite by plain copy; conflict copies are read once")
    func union() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        try await unlocked.noteUse(for: site, .create, .done)
        let other = try await bench.copy()
        let there = try other.joinWithoutPIN()
        try await there.noteUse(for: site, .signIn, .done)
        try await FileSystem.run("sh", "-c", "cp -rn \(other.vault)/. \(bench.vault)/")
        let device = try #require(try FileSystem.names(bench.vault + "/uses").first)
        let path = "\(bench.vault)/uses/\(device)/1"
        try await FileSystem.run("cp", path, path + ".sync-conflict-20260101-101010-ABCDEFG")
        #expect(try await unlocked.uses().uses.count == 2)
        #expect(try await unlocked.uses().notes.isEmpty)
    }

    @Test("What is not genuine is noted and left out, and closes nothing")
    func hostile() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        for _ in 0..<3 { try await unlocked.noteUse(for: site, .signIn, .done) }
        let device = try #require(try FileSystem.names(bench.vault + "/uses").first)
        let path = "\(bench.vault)/uses/\(device)/1"
        let bytes = try FileSystem.read(path)
        for index in bytes.indices {
            try await FileSystem.flipping(path, at: index, by: 2) {
                let found = try await unlocked.uses()
                #expect(found.uses.count == (index < 22 ? 0 : 2), "byte \(index)")
                #expect(!found.notes.isEmpty)
            }
        }
        // Entries that were swapped are genuine nowhere else.
        let (first, second) = (bytes[22..<562], bytes[562..<1102])
        try FileSystem.write(path, Array(bytes[..<22] + second + first + bytes[1102...]))
        #expect(try await unlocked.uses().uses.count == 1)
        try FileSystem.write(path, bytes.dropLast(100))
        #expect(try await unlocked.uses().uses.count == 2)
        try await unlocked.noteUse(for: site, .create, .done)
        #expect(try await unlocked.uses().uses.count == 3)
        try FileSystem.write(path, [UInt8](repeating: 0, count: 400_000))
        try await FileSystem.run("mkdir", bench.vault + "/uses/README")
        #expect(try await unlocked.uses().uses.isEmpty)
        #expect(try await unlocked.uses().notes.count == 2)
        try await unlocked.noteUse(for: site, .create, .done)
        #expect(try await unlocked.uses().uses.count == 1)
        #expect(try FileSystem.read(path).count == 400_000, "what can't be read is not overwritten")
        #expect(try bench.unlock().notes.isEmpty)
    }

    @Test("A locked vault neither tells nor notes uses")
    func locked() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        await unlocked.lock()
        await #expect(throws: VaultError.locked) { try await unlocked.uses() }
        await #expect(throws: VaultError.locked) { try await unlocked.noteUse(for: site, .create, .done) }
    }
}
