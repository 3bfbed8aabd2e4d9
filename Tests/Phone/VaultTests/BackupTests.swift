// SPDX-License-Identifier: Apache-2.0

import Crypto
import Glibc
import HybridAuthenticator
import HybridCTAP
import Testing

@testable import HybridVault

@Suite("Backups", .serialized)
struct BackupTests {
    private static func prepare() async throws -> (VaultFixture, UnlockedVault, String) {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for user in ["ada", "bob"] { try await unlocked.add(.fresh(user: user)) }
        try await unlocked.addPassphrase(.typed(), replacing: false)
        return (fixture, unlocked, fixture.root + "/backup")
    }

    private static func restore(
        _ path: String,
        to fixture: VaultFixture,
        _ text: String = Passphrase.strongText
    ) async throws {
        let backup = try await VaultBackup.read(path)
        _ = try await VaultFixture.comparing {
            try await backup.restore(
                to: fixture.location,
                secret: .passphrase(.typed(text)),
                pin: .typed("654321"),
                comparedAs: $0
            )
        }
    }

    @Test("A backup has mode 0600, overwrites nothing, needs a slot, and contains everything")
    func roundTrip() async throws {
        let (fixture, unlocked, path) = try await Self.prepare()
        try await unlocked.recordUse(for: try #require(RelyingPartyID("example.com")), .create, .done)
        try await unlocked.delete(try #require(try await unlocked.summaries().first { $0.user?.name == "bob" }).record)
        let planted = "uses/0011223344556677/1"
        try await FileSystem.run("mkdir", "-p", fixture.vault + "/uses/0011223344556677")
        try FileSystem.write(fixture.vault + "/" + planted, [1, 2, 3])
        try await unlocked.backUp(to: path)
        let inside = try #require(BackupFile(bytes: try FileSystem.read(path))?.open(key: fixture.key))
        #expect(!inside.contains { $0.path == planted }, "a file that is not a history is not included")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(await VaultFixture.refusal { try await unlocked.backUp(to: path) } == .fileExists(path: path))
        let other = try VaultFixture()
        try await Self.restore(path, to: other)
        let there = try await other.open(pin: "654321")
        #expect(try await VaultFixture.names(there) == ["ada"])
        #expect(try await there.uses().uses.count == 1)
        #expect(try await there.portableSlots() == (1, 0))
        #expect(other.refusal() == nil)
        let nowhere = fixture.root + "/missing/backup"
        guard case .cannotWriteBackup? = await VaultFixture.refusal({ try await unlocked.backUp(to: nowhere) }) else {
            Issue.record("a missing folder is not reported")
            return
        }
        let poor = try VaultFixture()
        try poor.createWithoutPIN()
        let empty = try poor.unlock()
        #expect(await VaultFixture.refusal { try await empty.backUp(to: path + "2") } == .noPortableSlot)
        #expect(!(try FileSystem.names(fixture.root).contains("backup2")))
    }

    @Test("A restore needs an empty destination, and a wrong passphrase changes nothing")
    func refused() async throws {
        let (fixture, unlocked, path) = try await Self.prepare()
        try await unlocked.backUp(to: path)
        let other = try VaultFixture()
        #expect(await VaultFixture.refusal { try await Self.restore(path, to: other, "wrong") } == .wrongSecret)
        #expect(try FileSystem.names(other.root).isEmpty)
        let before = try fixture.snapshot()
        #expect(
            await VaultFixture.refusal { try await Self.restore(path, to: fixture) }
                == .alreadyExists(path: fixture.vault)
        )
        #expect(try fixture.snapshot() == before)
        try await FileSystem.run("mkdir", "-m", "700", other.vault)
        try FileSystem.write(other.vault + "/letter.txt", [1])
        #expect(await VaultFixture.refusal { try await Self.restore(path, to: other) } == .notAVault(path: other.vault))
        let third = try VaultFixture()
        try third.createWithoutPIN()
        let foreign = try third.unlock()
        let backup = try await VaultBackup.read(path)
        #expect(
            await VaultFixture.refusal { try await foreign.merge(backup) }
                == .backupOfAnotherVault(path: third.vault)
        )
    }

    @Test("A backup with any flipped byte or any missing end is refused, and nothing is restored")
    func damaged() async throws {
        let (fixture, unlocked, path) = try await Self.prepare()
        try await unlocked.backUp(to: path)
        let bytes = try FileSystem.read(path)
        let key = fixture.key
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 8
            #expect(BackupFile(bytes: changed)?.open(key: key) == nil, "byte \(index)")
        }
        for length in stride(from: 0, to: bytes.count, by: 7) {
            #expect(BackupFile(bytes: Array(bytes.prefix(length)))?.open(key: key) == nil, "length \(length)")
        }
        var changed = bytes
        changed[bytes.count - 100] ^= 1
        try FileSystem.write(path, changed)
        let other = try VaultFixture()
        #expect(await VaultFixture.refusal { try await Self.restore(path, to: other) } == .backupDamaged("its content"))
        #expect(try FileSystem.names(other.root).isEmpty)
        #expect(
            await VaultFixture.refusal { _ = try await VaultBackup.read(fixture.root + "/none") }
                == .backupUnreadable(fixture.root + "/none: it is missing")
        )
        try FileSystem.write(path, [1, 2, 3])
        #expect(await VaultFixture.refusal { _ = try await VaultBackup.read(path) } == .backupDamaged("its beginning"))
    }

    @Test("An interrupted restore can be repeated, and leaves no vault before")
    func cutShort() async throws {
        let (_, unlocked, path) = try await Self.prepare()
        try await unlocked.backUp(to: path)
        let other = try VaultFixture()
        try await Self.restore(path, to: other)
        try await FileSystem.run("rm", "-r", other.vault + "/vault.json", other.state)
        #expect(other.refusal() == .incomplete(path: other.vault))
        try await Self.restore(path, to: other)
        #expect(try await VaultFixture.names(other.open(pin: "654321")) == ["ada", "bob"])
    }

    @Test("Merging a backup into its vault neither reverts newer revisions nor restores deleted passkeys")
    func merge() async throws {
        let (fixture, unlocked, path) = try await Self.prepare()
        let site = try #require(RelyingPartyID("example.com"))
        try await unlocked.recordUse(for: site, .signIn, .done)
        try await unlocked.backUp(to: path)
        try await unlocked.recordUse(for: site, .signIn, .done)
        let bob = try #require(try await unlocked.summaries().first { $0.user?.name == "bob" }).record
        try await unlocked.delete(bob)
        try await unlocked.add(.fresh(user: "later"))
        let backup = try await VaultBackup.read(path)
        #expect(try await unlocked.merge(backup) == 0)
        #expect(try await VaultFixture.names(unlocked) == ["ada", "later"])
        // An emptied vault gets everything back except deleted passkeys.
        try await FileSystem.run("rm", "-r", fixture.vault + "/records", fixture.vault + "/slots")
        let person = UnlockedVault(files: try fixture.open().files, key: fixture.key, warnings: [])
        #expect(try await person.merge(backup) == 3)
        #expect(try await VaultFixture.names(fixture.unlock()) == ["ada"])
    }

    @Test("A merge ignores files that a server added under a replaced key, and reports losses first")
    func planted() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        for user in ["ada", "bob"] { try await unlocked.add(.fresh(user: user)) }
        try await unlocked.addPassphrase(.typed(), replacing: false)
        let vault = try fixture.open()
        let next = "glider museum ochre tactful banjo"
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(next),
            recoveryCode: nil
        )
        let path = fixture.root + "/backup"
        try await unlocked.backUp(to: path)
        let entries = try await unlocked.summaries()
        try await unlocked.add(.fresh(user: "later"))
        let later = try #require(try await unlocked.summaries().first { $0.user?.name == "later" }).record
        try await FileSystem.run("rm", "-r", fixture.vault + "/records/\(later)")
        for entry in entries {
            try await PasskeyTests.plant(
                .deletion,
                in: fixture,
                vault: vault,
                key: fixture.key,
                id: entry.record,
                counter: 50
            )
        }
        let backup = try await VaultBackup.read(path)
        let person = try await VaultFixture.acceptance(fixture, pin: "123456")
        let shown = try await person.difference(merging: backup)
        #expect(shown == VaultDifference(missing: 1))
        let other = VaultDifference()
        #expect(await VaultFixture.refusal { try await person.merge(backup, expecting: other) } == .changedMeanwhile)
        #expect(await VaultFixture.refusal { try await person.accept(expecting: other) } == .changedMeanwhile)
        #expect(try await person.merge(backup, expecting: shown) == 0)
        let here = try await fixture.open(pin: "123456")
        #expect(try await VaultFixture.names(here) == ["ada", "bob"])
        #expect(here.warnings.count == 2)
        // The same when vault.json was withheld and the files were added.
        let there = try VaultFixture()
        try await FileSystem.run("mkdir", "-m", "700", there.vault)
        for entry in entries {
            try await PasskeyTests.plant(
                .deletion,
                in: there,
                vault: vault,
                key: fixture.key,
                id: entry.record,
                counter: 50
            )
        }
        try await Self.restore(path, to: there, next)
        #expect(try await VaultFixture.names(there.open(pin: "654321")) == ["ada", "bob"])
    }

    @Test(
        "A backup from before a rekey can be restored if the vault was lost but its local state was kept, even if damaged"
    )
    func unreadableMemory() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        try await unlocked.addPassphrase(.typed(), replacing: false)
        let path = fixture.root + "/backup"
        try await unlocked.backUp(to: path)
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: nil,
            recoveryCode: nil
        )
        let state = try fixture.stateOfVault()
        try await FileSystem.run("rm", "-r", fixture.vault)
        let pin = try FileSystem.read(state + "/pin")
        let lost = VaultError.rollbackStateUnreadable(path: state)
        #expect(await VaultFixture.refusal { try await Self.restore(path, to: fixture) } == lost)
        #expect(try FileSystem.read(state + "/pin") == pin)
        let backup = try await VaultBackup.read(path)
        _ = try await VaultFixture.comparing {
            try await backup.restore(
                to: fixture.location,
                secret: .passphrase(.typed()),
                pin: .typed("654321"),
                comparedAs: $0,
                resettingRollbackState: true
            )
        }
        #expect(try await VaultFixture.names(fixture.open(pin: "654321")) == ["ada"])
        for name in ["pin", "attempts", "device"] {
            try FileSystem.write(state + "/" + name, [1, 2, 3])
            try await fixture.join(.passphrase(.typed()))
            #expect(try await VaultFixture.names(fixture.open(pin: "654321")) == ["ada"])
        }
        try FileSystem.write(state + "/seen", [1, 2, 3])
        #expect(await VaultFixture.refusal { try await fixture.join(.passphrase(.typed())) } == lost)
    }

    @Test("A backup from before a rekey is merged under the new key, without its passphrase")
    func beforeRekeying() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        try await unlocked.addPassphrase(.typed(), replacing: false)
        try await unlocked.backUp(to: fixture.root + "/backup")
        let next = "glider museum ochre tactful banjo"
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(next),
            recoveryCode: nil
        )
        try await FileSystem.run("rm", "-r", fixture.vault + "/records")
        let person = try await VaultFixture.acceptance(fixture, pin: "123456")
        try await person.merge(VaultBackup.read(fixture.root + "/backup"))
        let again = try await fixture.open(pin: "123456")
        #expect(try await VaultFixture.names(again) == ["ada"])
        #expect(try await again.portableSlots() == (1, 0))
        #expect(try FileSystem.names(fixture.vault + "/slots").count == 1, "slots of the replaced key stay away")
        #expect(again.warnings.isEmpty)
    }

    @Test("Passkeys are reported as backed up only while the last backup contains all of them")
    func backedUp() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let first = try await fixture.open(pin: "123456")
        try await first.addPassphrase(.typed(), replacing: false)
        try await first.add(.fresh())
        #expect(!first.isBackedUp)
        try await first.backUp(to: fixture.root + "/one")
        #expect(first.isBackedUp)
        #expect(try await fixture.open(pin: "123456").isBackedUp)
        try await first.add(.fresh())
        #expect(!first.isBackedUp)
        #expect(try await !fixture.open(pin: "123456").isBackedUp)
        try await first.backUp(to: fixture.root + "/two")
        #expect(try await fixture.open(pin: "123456").isBackedUp)
        let status = try Vault.status(at: fixture.location)
        #expect(status.lastBackup == 1_700_000_000)
    }

    @Test(
        "Paths in a backup stay inside the vault",
        arguments: [
            "", "/", "..", "../x", "vault.json", "records/../../x", "records/x/1-0011223344556677", "slots/..",
            "slots/00112233445566778899aabbccddeeff/x", "/slots/00112233445566778899aabbccddeeff", "uses/1/1",
            "keys/00112233445566778899aabbccddeeff-x", "uses/0011223344556677/01", "records",
            "records/00112233445566778899aabbccddeeff/1-0011223344556677.copy", "slots/\u{0}",
        ]
    )
    func paths(path: String) { #expect(VaultPath(path) == nil) }
}
