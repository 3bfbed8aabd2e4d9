// SPDX-License-Identifier: Apache-2.0

import Crypto
import Glibc
import HybridAuthenticator
import HybridCTAP
import Synchronization
import Testing

@testable import HybridVault

@Suite("Accepting a rolled-back vault")
struct AcceptanceTests {
    private func acceptance(_ fixture: VaultFixture) throws -> UnlockedVault {
        UnlockedVault(files: try fixture.open().files, key: fixture.key, warnings: [])
    }

    @Test("Missing and older records are reported and accepted")
    func accept() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for user in ["kept", "missing", "older"] { try await unlocked.add(.fresh(user: user)) }
        let entries = try await unlocked.summaries()
        let older = try #require(entries.first { $0.user?.name == "older" }?.record)
        let missing = try #require(entries.first { $0.user?.name == "missing" }?.record)
        try await unlocked.rename(older, name: "newer", displayName: "")
        try await FileSystem.run(
            "sh",
            "-c",
            "rm \(fixture.vault)/records/\(older)/2-* ; rm -r \(fixture.vault)/records/\(missing)"
        )
        #expect(fixture.unlockError() == .rolledBack)
        let person = try acceptance(fixture)
        #expect(try await person.difference() == VaultDifference(missing: 1, older: 1))
        #expect(fixture.unlockError() == .rolledBack, "reading the difference changes nothing")
        #expect(try await person.accept() == VaultDifference(missing: 1, older: 1))
        #expect(try await VaultFixture.names(fixture.unlock()) == ["kept", "older"])
        #expect(try await person.difference().isEmpty)
    }

    @Test("Deleted records stay deleted, even if a server restores them")
    func deleted() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "gone"))
        let before = try await fixture.copy()
        let record = try #require(try await unlocked.summaries().first?.record)
        try await unlocked.delete(record)
        try await FileSystem.run(
            "sh",
            "-c",
            "rm -r \(fixture.vault)/records; cp -r \(before.vault)/records \(fixture.vault)/"
        )
        #expect(fixture.unlockError() == .rolledBack)
        #expect(try await acceptance(fixture).accept() == VaultDifference(undeleted: 1))
        #expect(try await fixture.unlock().summaries().isEmpty)
        // Also if the record is missing altogether.
        try await FileSystem.run("rm", "-r", fixture.vault + "/records")
        #expect(try await acceptance(fixture).accept() == VaultDifference(undeleted: 1))
        try await FileSystem.run("sh", "-c", "cp -r \(before.vault)/records/. \(fixture.vault)/records/")
        #expect(try await fixture.unlock().summaries().isEmpty)
    }

    @Test("A change or deletion that cannot be recorded among the seen revisions is reported, and it is durable")
    func unremembered() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        let record = try #require(try await unlocked.summaries().first?.record)
        let seen = try fixture.stateOfVault() + "/seen"
        for kind in [RecordBody.passkey, RecordBody.tombstone] {
            let refused = await VaultFixture.refusal {
                try fixture.open().files
                    .write(key: fixture.key) { records throws(VaultError) in
                        let revealed = records.reveal(record)
                            .map { RecordBody(kind: RecordBody.passkey, members: $0.members) }
                        let body = kind == RecordBody.tombstone ? RecordBody.deletion : revealed
                        // A file cannot replace a directory.
                        _ = Glibc.rename(seen, seen + "-kept") == 0 && mkdir(seen, 0o755) == 0
                        guard let body else { throw .noSuchRecord }
                        return (record, body)
                    }
            }
            try await FileSystem.run("sh", "-c", "rmdir \(seen) && mv \(seen)-kept \(seen)")
            if kind == RecordBody.tombstone {
                guard case .deletionNotRecorded? = refused else {
                    Issue.record("the deletion was reported as done")
                    continue
                }
            } else {
                guard case .changeNotRecorded? = refused else {
                    Issue.record("the change was reported as recorded")
                    continue
                }
                #expect(try fixture.recordFiles().count == 2)
            }
        }
        #expect(try await fixture.unlock().summaries().isEmpty)
    }

    @Test("The right PIN opens the vault for acceptance; a wrong one is counted")
    func withPIN() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        try await fixture.unlock().add(.fresh())
        try await FileSystem.run("rm", "-r", fixture.vault + "/records")
        await #expect(throws: UnlockFailure.wrongPIN(attemptsLeft: 4)) {
            try await fixture.open().unlockVault(with: .typed("000000"), checkingRecords: false)
        }
        let person = try await fixture.open().unlockVault(with: .typed("123456"), checkingRecords: false)
        #expect(try await person.accept().missing == 1)
        #expect(try await fixture.unlockFailure() == nil)
    }

    @Test("A record whose file is damaged is missing, and given up only if the user accepts that")
    func damaged() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        try await fixture.unlock().add(.fresh())
        let path = try #require(try fixture.recordFiles().first)
        let whole = try FileSystem.read(path)
        try FileSystem.write(path, [1, 2, 3])
        guard case .damaged? = fixture.unlockError() else {
            Issue.record("damage was ignored")
            return
        }
        let person = try acceptance(fixture)
        #expect(try await person.difference() == VaultDifference(missing: 1))
        #expect(try await person.accept(expecting: VaultDifference(missing: 1)).missing == 1)
        let unlocked = try fixture.unlock()
        #expect(try await unlocked.summaries().isEmpty && unlocked.warnings.count == 1)
        try FileSystem.write(path, whole)
        #expect(try await fixture.unlock().summaries().count == 1)
    }

    @Test("A device's own superseded revisions are removed after thirty days; those of others and current ones stay")
    func superseded() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        let record = try #require(try await unlocked.summaries().first?.record)
        let other = try VaultFixture(key: fixture.key)
        try await FileSystem.run("cp", "-a", fixture.vault, other.root)
        let there = try other.joinWithoutPIN()
        try await there.rename(record, name: "there", displayName: "")
        try await FileSystem.run("sh", "-c", "cp -rn \(other.vault)/. \(fixture.vault)/ || true")
        try await fixture.unlock().rename(record, name: "here", displayName: "")
        #expect(try fixture.recordFiles().count == 3)
        try await FileSystem.run("sh", "-c", "touch -d '1970-02-01' \(fixture.vault)/records/*/*")
        fixture.seconds.withLock { $0 = 24 * 3600 * 31 + 30 * 24 * 3600 }
        _ = try await fixture.open(pin: "123456")
        #expect(try fixture.recordFiles().count == 3, "thirty days are not over")
        fixture.wait(24 * 3600)
        _ = try await fixture.open(pin: "123456")
        #expect(try fixture.recordFiles().count == 2)
        #expect(try await VaultFixture.names(fixture.open(pin: "123456")) == ["here"])
        #expect(!(try fixture.recordFiles().contains { $0.contains("/1-") }))
    }
}
