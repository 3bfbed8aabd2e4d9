// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import Testing

@testable import HybridVault

@Suite("Rollback and merge")
struct MergeTests {
    @Test("A missing record is a rollback, and nothing is changed")
    func missing() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        for user in ["one", "two"] { try await unlocked.add(.fresh(user: user)) }
        let seen = try FileSystem.read(bench.stateOfVault() + "/seen")
        let path = try #require(try bench.recordFiles().last)
        try await FileSystem.run("mv", path, bench.root + "/kept")
        let before = try bench.snapshot()
        #expect(bench.unlockError() == .rolledBack)
        await #expect(throws: StoreFailure.damaged(VaultError.rolledBack.sentence)) { try await unlocked.add(.fresh()) }
        #expect(try bench.snapshot() == before)
        #expect(try FileSystem.read(bench.stateOfVault() + "/seen") == seen)
        try await FileSystem.run("mv", bench.root + "/kept", path)
        #expect(try await bench.unlock().entries().count == 2)
    }

    @Test("An older revision in place of the newest is a rollback")
    func older() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh())
        let record = try #require(try await unlocked.entries().first?.record)
        try await unlocked.rename(record, name: "new", displayName: "")
        let newest = try #require(try bench.recordFiles().first { $0.contains("/2-") })
        try await FileSystem.run("rm", newest)
        #expect(bench.unlockError() == .rolledBack)
    }

    @Test("A vanished tombstone is a rollback, even under a higher revision")
    func vanishedTombstone() async throws {
        let bench = try Workbench()
        let vault = try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh())
        let record = try #require(try await unlocked.entries().first?.record)
        try await unlocked.delete(record)
        try await FileSystem.run("rm", try #require(try bench.recordFiles().first { $0.contains("/2-") }))
        #expect(bench.unlockError() == .rolledBack)
        let body = RecordBody(
            kind: RecordBody.passkey,
            members: PasskeyBody(try .fresh(), order: 9, created: 9).members
        )
        try await PasskeyTests.plant(body, in: bench, vault: vault, key: bench.key, id: record, counter: 99)
        #expect(bench.unlockError() == .rolledBack)
    }

    @Test("A vault that is emptied of all records is a rollback")
    func emptied() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        try await FileSystem.run("rm", "-r", bench.vault + "/records")
        #expect(bench.unlockError() == .rolledBack)
    }

    @Test("The right PIN on a rolled-back vault says so, changes nothing and is not counted as wrong")
    func rolledBackAtUnlock() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        try await bench.unlock().add(.fresh())
        try await FileSystem.run("rm", "-r", bench.vault + "/records")
        let vault = try bench.open()
        let pin = try PIN.typed("123456")
        await #expect(throws: UnlockFailure.unusable(VaultError.rolledBack.sentence)) {
            try await vault.unlock(with: pin)
        }
        #expect(vault.lastFailure == .rolledBack)
        #expect(try FileSystem.names(bench.vault) == ["slots", "vault.json"])
        #expect(try await bench.unlockFailure(pin: "000000") == .wrongPIN(attemptsLeft: 4))
    }

    @Test("What another device wrote is remembered as soon as it was seen")
    func seenFromOthers() async throws {
        let bench = try Workbench()
        let vault = try bench.createWithoutPIN()
        let key = bench.key
        let body = RecordBody(
            kind: RecordBody.passkey,
            members: PasskeyBody(try .fresh(), order: 1, created: 1).members
        )
        try await PasskeyTests.plant(body, in: bench, vault: vault, key: key)
        #expect(try await bench.unlock().entries().count == 1)
        try await FileSystem.run("rm", try #require(try bench.recordFiles().first))
        #expect(bench.unlockError() == .rolledBack)
    }

    @Test("A tombstone wins over any revision, before or after")
    func tombstoneWins() async throws {
        let bench = try Workbench()
        let vault = try bench.createWithoutPIN()
        let key = bench.key
        let body = RecordBody(
            kind: RecordBody.passkey,
            members: PasskeyBody(try .fresh(), order: 1, created: 1).members
        )
        let record = try await PasskeyTests.plant(body, in: bench, vault: vault, key: key, counter: 7)
        #expect(try await bench.unlock().entries().count == 1)
        try await PasskeyTests.plant(.deletion, in: bench, vault: vault, key: key, id: record, counter: 3)
        #expect(try await bench.unlock().entries().isEmpty)
        try await PasskeyTests.plant(body, in: bench, vault: vault, key: key, id: record, counter: 8)
        #expect(try await bench.unlock().entries().isEmpty)
    }

    @Test("Of two revisions with one counter, the higher device wins, on every device")
    func sameCounter() async throws {
        let bench = try Workbench()
        let vault = try bench.createWithoutPIN()
        let key = bench.key
        let record = RecordID.random()
        for (device, name) in [(UInt8(9), "nine"), (3, "three"), (200, "highest"), (10, "ten")] {
            let members = PasskeyBody(try .fresh(user: name), order: 1, created: 1).members
            let body = RecordBody(kind: RecordBody.passkey, members: members)
            let deviceID = [device, 0, 0, 0, 0, 0, 0, 0]
            try await PasskeyTests.plant(
                body,
                in: bench,
                vault: vault,
                key: key,
                id: record,
                counter: 2,
                device: deviceID
            )
        }
        let unlocked = try bench.unlock()
        #expect(try await unlocked.entries().map(\.user?.name) == ["highest"])
        try await unlocked.rename(record, name: "after", displayName: "")
        #expect(try vault.files.load(key: key).all[record]?.newest.counter == 3)
    }

    @Test("Counters are numbers, not texts")
    func numericCounters() async throws {
        let bench = try Workbench()
        let vault = try bench.createWithoutPIN()
        let key = bench.key
        let record = RecordID.random()
        for counter in [UInt64(9), 10, 2] {
            let members = PasskeyBody(try .fresh(user: "\(counter)"), order: 1, created: 1).members
            let body = RecordBody(kind: RecordBody.passkey, members: members)
            try await PasskeyTests.plant(body, in: bench, vault: vault, key: key, id: record, counter: counter)
        }
        #expect(try await bench.unlock().entries().map(\.user?.name) == ["10"])
    }

    @Test("The union of two copies that went their own ways is a valid vault")
    func union() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        for user in ["kept", "renamed", "deleted"] { try await unlocked.add(.fresh(user: user)) }
        let other = try Workbench(key: bench.key)
        try await FileSystem.run("cp", "-a", bench.vault, bench.state, other.root)
        let elsewhere = try other.unlock()
        func record(_ name: String, _ vault: UnlockedVault) async throws -> RecordID {
            try #require(try await vault.entries().first { $0.user?.name == name }?.record)
        }
        try await elsewhere.add(.fresh(user: "there"))
        try await elsewhere.delete(try await record("deleted", elsewhere))
        try await unlocked.add(.fresh(user: "here"))
        try await unlocked.rename(try await record("renamed", unlocked), name: "after", displayName: "")
        try await FileSystem.run(
            "sh",
            "-c",
            "cp -rn \(other.vault)/. \(bench.vault)/; cp -rn \(bench.vault)/. \(other.vault)/"
        )
        let names = try await bench.unlock().entries().compactMap(\.user?.name).sorted()
        #expect(names == ["after", "here", "kept", "there"])
        #expect(try await other.unlock().entries().compactMap(\.user?.name).sorted() == names)
    }

    @Test("A writer that is killed at any moment leaves a whole vault")
    func leftovers() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        let path = try #require(try bench.recordFiles().first)
        let directory = String(path.prefix(through: try #require(path.lastIndex(of: "/"))))
        let bytes = try FileSystem.read(path)
        try FileSystem.write(directory + ".hybrid-tmp-0011223344556677", Array(bytes.prefix(100)))
        try FileSystem.write(directory + ".hybrid-tmp-8899aabbccddeeff", bytes)
        try await FileSystem.run("mkdir", bench.vault + "/records/00112233445566778899aabbccddeeff")
        let unlocked = try bench.unlock()
        #expect(try await unlocked.entries().count == 1)
        #expect(unlocked.notes.isEmpty)
    }
}
