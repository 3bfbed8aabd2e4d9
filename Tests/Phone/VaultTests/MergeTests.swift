// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import Testing

@testable import HybridVault

@Suite("Rollback and merge")
struct MergeTests {
    @Test("A missing record is a rollback, and nothing is changed")
    func missing() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for user in ["one", "two"] { try await unlocked.add(.fresh(user: user)) }
        let seen = try FileSystem.read(fixture.stateOfVault() + "/seen")
        let path = try #require(try fixture.recordFiles().last)
        try await FileSystem.run("mv", path, fixture.root + "/kept")
        let before = try fixture.snapshot()
        #expect(fixture.unlockError() == .rolledBack)
        await #expect(throws: StoreFailure.damaged(VaultError.rolledBack.sentence)) { try await unlocked.add(.fresh()) }
        #expect(try fixture.snapshot() == before)
        #expect(try FileSystem.read(fixture.stateOfVault() + "/seen") == seen)
        try await FileSystem.run("mv", fixture.root + "/kept", path)
        #expect(try await fixture.unlock().summaries().count == 2)
    }

    @Test("An older revision in place of the newest is a rollback")
    func older() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        let record = try #require(try await unlocked.summaries().first?.record)
        try await unlocked.rename(record, name: "new", displayName: "")
        let newest = try #require(try fixture.recordFiles().first { $0.contains("/2-") })
        try await FileSystem.run("rm", newest)
        #expect(fixture.unlockError() == .rolledBack)
    }

    @Test("A vanished tombstone is a rollback, even under a higher revision")
    func vanishedTombstone() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        let record = try #require(try await unlocked.summaries().first?.record)
        try await unlocked.delete(record)
        try await FileSystem.run("rm", try #require(try fixture.recordFiles().first { $0.contains("/2-") }))
        #expect(fixture.unlockError() == .rolledBack)
        let body = RecordBody(
            kind: RecordBody.passkey,
            members: PasskeyBody(try .fresh(), order: 9, created: 9).members
        )
        try await PasskeyTests.plant(body, in: fixture, vault: vault, key: fixture.key, id: record, counter: 99)
        #expect(fixture.unlockError() == .rolledBack)
    }

    @Test("A vault that lost all records is a rollback")
    func emptied() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        try await FileSystem.run("rm", "-r", fixture.vault + "/records")
        #expect(fixture.unlockError() == .rolledBack)
    }

    @Test("The right PIN on a rolled-back vault reports the rollback, changes nothing and is not counted as wrong")
    func rolledBackAtUnlock() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        try await fixture.unlock().add(.fresh())
        try await FileSystem.run("rm", "-r", fixture.vault + "/records")
        let failure = try await fixture.unlockFailure()
        #expect(failure == .unusable(VaultError.rolledBack.sentence))
        #expect(failure?.underlying as? VaultError == .rolledBack)
        #expect(try FileSystem.names(fixture.vault) == ["slots", "vault.json"])
        #expect(try await fixture.unlockFailure(pin: "000000") == .wrongPIN(attemptsLeft: 4))
    }

    @Test("Revisions of other devices are recorded as soon as they are seen")
    func seenFromOthers() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let key = fixture.key
        let body = RecordBody(
            kind: RecordBody.passkey,
            members: PasskeyBody(try .fresh(), order: 1, created: 1).members
        )
        try await PasskeyTests.plant(body, in: fixture, vault: vault, key: key)
        #expect(try await fixture.unlock().summaries().count == 1)
        try await FileSystem.run("rm", try #require(try fixture.recordFiles().first))
        #expect(fixture.unlockError() == .rolledBack)
    }

    @Test("A tombstone wins over any revision, before or after")
    func tombstoneWins() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let key = fixture.key
        let body = RecordBody(
            kind: RecordBody.passkey,
            members: PasskeyBody(try .fresh(), order: 1, created: 1).members
        )
        let record = try await PasskeyTests.plant(body, in: fixture, vault: vault, key: key, counter: 7)
        #expect(try await fixture.unlock().summaries().count == 1)
        try await PasskeyTests.plant(.deletion, in: fixture, vault: vault, key: key, id: record, counter: 3)
        #expect(try await fixture.unlock().summaries().isEmpty)
        try await PasskeyTests.plant(body, in: fixture, vault: vault, key: key, id: record, counter: 8)
        #expect(try await fixture.unlock().summaries().isEmpty)
    }

    @Test("Of two revisions with one counter, that of the higher device ID wins everywhere")
    func sameCounter() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let key = fixture.key
        let record = RecordID.random()
        for (device, name) in [(UInt8(9), "nine"), (3, "three"), (200, "highest"), (10, "ten")] {
            let members = PasskeyBody(try .fresh(user: name), order: 1, created: 1).members
            let body = RecordBody(kind: RecordBody.passkey, members: members)
            let deviceID = [device, 0, 0, 0, 0, 0, 0, 0]
            try await PasskeyTests.plant(
                body,
                in: fixture,
                vault: vault,
                key: key,
                id: record,
                counter: 2,
                device: deviceID
            )
        }
        let unlocked = try fixture.unlock()
        #expect(try await unlocked.summaries().map(\.user?.name) == ["highest"])
        try await unlocked.rename(record, name: "after", displayName: "")
        #expect(try vault.files.records(key: key).all[record]?.newest.counter == 3)
    }

    @Test("Counters are compared as numbers, not as text")
    func numericCounters() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let key = fixture.key
        let record = RecordID.random()
        for counter in [UInt64(9), 10, 2] {
            let members = PasskeyBody(try .fresh(user: "\(counter)"), order: 1, created: 1).members
            let body = RecordBody(kind: RecordBody.passkey, members: members)
            try await PasskeyTests.plant(body, in: fixture, vault: vault, key: key, id: record, counter: counter)
        }
        #expect(try await fixture.unlock().summaries().map(\.user?.name) == ["10"])
    }

    @Test("The union of two independent copies is a valid vault")
    func union() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for user in ["kept", "renamed", "deleted"] { try await unlocked.add(.fresh(user: user)) }
        let other = try VaultFixture(key: fixture.key)
        try await FileSystem.run("cp", "-a", fixture.vault, fixture.state, other.root)
        let elsewhere = try other.unlock()
        func record(_ name: String, _ vault: UnlockedVault) async throws -> RecordID {
            try #require(try await vault.summaries().first { $0.user?.name == name }?.record)
        }
        try await elsewhere.add(.fresh(user: "there"))
        try await elsewhere.delete(try await record("deleted", elsewhere))
        try await unlocked.add(.fresh(user: "here"))
        try await unlocked.rename(try await record("renamed", unlocked), name: "after", displayName: "")
        try await FileSystem.run(
            "sh",
            "-c",
            "cp -rn \(other.vault)/. \(fixture.vault)/; cp -rn \(fixture.vault)/. \(other.vault)/ || true"
        )
        let names = try await fixture.unlock().summaries().compactMap(\.user?.name).sorted()
        #expect(names == ["after", "here", "kept", "there"])
        #expect(try await other.unlock().summaries().compactMap(\.user?.name).sorted() == names)
    }

    @Test("A writer killed at any moment leaves a valid vault")
    func leftovers() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        let path = try #require(try fixture.recordFiles().first)
        let directory = String(path.prefix(through: try #require(path.lastIndex(of: "/"))))
        let bytes = try FileSystem.read(path)
        try FileSystem.write(directory + ".hybrid-tmp-0011223344556677", Array(bytes.prefix(100)))
        try FileSystem.write(directory + ".hybrid-tmp-8899aabbccddeeff", bytes)
        try await FileSystem.run("mkdir", fixture.vault + "/records/00112233445566778899aabbccddeeff")
        let unlocked = try fixture.unlock()
        #expect(try await unlocked.summaries().count == 1)
        #expect(unlocked.warnings.isEmpty)
    }
}
