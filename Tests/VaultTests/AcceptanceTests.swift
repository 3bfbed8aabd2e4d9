// SPDX-License-Identifier: Apache-2.0

import Crypto
import Glibc
import HybridAuthenticator
import HybridCTAP
import Synchronization
import Testing

@testable import HybridVault

@Suite("A person's word after a rollback")
struct AcceptanceTests {
    private func acceptance(_ bench: Workbench) throws -> UnlockedVault {
        UnlockedVault(files: try bench.open().files, key: bench.key, notes: [], failure: FailureBox())
    }

    @Test("What is missing or older is told, and taken as it is")
    func accept() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        for user in ["kept", "missing", "older"] { try await unlocked.add(.fresh(user: user)) }
        let entries = try await unlocked.entries()
        let older = try #require(entries.first { $0.user?.name == "older" }?.record)
        let missing = try #require(entries.first { $0.user?.name == "missing" }?.record)
        try await unlocked.rename(older, name: "newer", displayName: "")
        try await FileSystem.run(
            "sh",
            "-c",
            "rm \(bench.vault)/records/\(older)/2-* ; rm -r \(bench.vault)/records/\(missing)"
        )
        #expect(bench.unlockError() == .rolledBack)
        let person = try acceptance(bench)
        #expect(try await person.difference() == VaultDifference(missing: 1, older: 1))
        #expect(bench.unlockError() == .rolledBack, "asking changes nothing")
        #expect(try await person.accept() == VaultDifference(missing: 1, older: 1))
        #expect(try await Workbench.names(bench.unlock()) == ["kept", "older"])
        #expect(try await person.difference().isEmpty)
    }

    @Test("What was deleted stays deleted, whatever came back")
    func deleted() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh(user: "gone"))
        let before = try await bench.copy()
        let record = try #require(try await unlocked.entries().first?.record)
        try await unlocked.delete(record)
        try await FileSystem.run(
            "sh",
            "-c",
            "rm -r \(bench.vault)/records; cp -r \(before.vault)/records \(bench.vault)/"
        )
        #expect(bench.unlockError() == .rolledBack)
        #expect(try await acceptance(bench).accept() == VaultDifference(undeleted: 1))
        #expect(try await bench.unlock().entries().isEmpty)
        // Also where nothing at all came back of it.
        try await FileSystem.run("rm", "-r", bench.vault + "/records")
        #expect(try await acceptance(bench).accept() == VaultDifference(undeleted: 1))
        try await FileSystem.run("sh", "-c", "cp -r \(before.vault)/records/. \(bench.vault)/records/")
        #expect(try await bench.unlock().entries().isEmpty)
    }

    @Test("A deletion that can't be remembered is not called done; anything else is")
    func unremembered() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh())
        let record = try #require(try await unlocked.entries().first?.record)
        let seen = try bench.stateOfVault() + "/seen"
        for kind in [RecordBody.passkey, RecordBody.tombstone] {
            let refused = await Workbench.refusal {
                try bench.open().files
                    .write(key: bench.key) { records throws(VaultError) in
                        let body = kind == RecordBody.tombstone ? RecordBody.deletion : records.all[record]?.body
                        // Nothing can take the place of a directory.
                        _ = Glibc.rename(seen, seen + "-kept") == 0 && mkdir(seen, 0o755) == 0
                        guard let body else { throw .noSuchRecord }
                        return (record, body)
                    }
            }
            try await FileSystem.run("sh", "-c", "rmdir \(seen) && mv \(seen)-kept \(seen)")
            if kind == RecordBody.tombstone {
                guard case .deletionNotNoted? = refused else {
                    Issue.record("the deletion was called done")
                    continue
                }
            } else {
                #expect(refused == nil)
            }
        }
        #expect(try await bench.unlock().entries().isEmpty)
    }

    @Test("The right PIN lets a person in to accept; a wrong one is counted")
    func withPIN() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        try await bench.unlock().add(.fresh())
        try await FileSystem.run("rm", "-r", bench.vault + "/records")
        await #expect(throws: UnlockFailure.wrongPIN(attemptsLeft: 4)) {
            try await bench.open().openForAcceptance(with: .typed("000000"))
        }
        let person = try await bench.open().openForAcceptance(with: .typed("123456"))
        #expect(try await person.accept().missing == 1)
        #expect(try await bench.unlockFailure() == nil)
    }

    @Test("A damaged vault is not accepted away")
    func damaged() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        try await bench.unlock().add(.fresh())
        try FileSystem.write(try #require(try bench.recordFiles().first), [1, 2, 3])
        let person = try acceptance(bench)
        guard case .damaged? = await Workbench.refusal({ try await person.accept() }) else {
            Issue.record("damage was accepted")
            return
        }
    }

    @Test("Own revisions that no longer count go after thirty days; others' stay, and so does what counts")
    func superseded() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        let record = try #require(try await unlocked.entries().first?.record)
        let other = try Workbench(key: bench.key)
        try await FileSystem.run("cp", "-a", bench.vault, other.root)
        let there = try other.joinWithoutPIN()
        try await there.rename(record, name: "there", displayName: "")
        try await FileSystem.run("sh", "-c", "cp -rn \(other.vault)/. \(bench.vault)/")
        try await bench.unlock().rename(record, name: "here", displayName: "")
        #expect(try bench.recordFiles().count == 3)
        try await FileSystem.run("sh", "-c", "touch -d '1970-02-01' \(bench.vault)/records/*/*")
        bench.seconds.withLock { $0 = 24 * 3600 * 31 + 30 * 24 * 3600 }
        _ = try await bench.open(pin: "123456")
        #expect(try bench.recordFiles().count == 3, "thirty days are not over")
        bench.wait(24 * 3600)
        _ = try await bench.open(pin: "123456")
        #expect(try bench.recordFiles().count == 2)
        #expect(try await Workbench.names(bench.open(pin: "123456")) == ["here"])
        #expect(!(try bench.recordFiles().contains { $0.contains("/1-") }))
    }
}
