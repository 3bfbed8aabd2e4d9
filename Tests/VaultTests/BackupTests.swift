// SPDX-License-Identifier: Apache-2.0

import Crypto
import Glibc
import HybridAuthenticator
import HybridCTAP
import Testing

@testable import HybridVault

@Suite("Backups", .serialized)
struct BackupTests {
    private static func prepare() async throws -> (Workbench, UnlockedVault, String) {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        for user in ["ada", "bob"] { try await unlocked.add(.fresh(user: user)) }
        try await unlocked.addPassphrase(.typed(), replacing: false, scrypt: Workbench.scrypt)
        return (bench, unlocked, bench.root + "/backup")
    }

    private static func restore(
        _ path: String,
        to bench: Workbench,
        _ text: String = Passphrase.strongText
    ) async throws {
        _ = try await VaultBackup.read(path)
            .restore(
                to: bench.vault,
                stateDirectory: bench.state,
                secret: .passphrase(.typed(text)),
                pin: .typed("654321"),
                scrypt: Workbench.scrypt,
                clock: bench.clock
            )
    }

    @Test("A backup is 0600, is not overwritten, needs a slot, and holds everything")
    func roundTrip() async throws {
        let (bench, unlocked, path) = try await Self.prepare()
        try await unlocked.noteUse(for: try #require(RelyingPartyID("example.com")), .create, .done)
        try await unlocked.delete(try #require(try await unlocked.entries().first { $0.user?.name == "bob" }).record)
        let planted = "uses/0011223344556677/1"
        try await FileSystem.run("mkdir", "-p", bench.vault + "/uses/0011223344556677")
        try FileSystem.write(bench.vault + "/" + planted, [1, 2, 3])
        try await unlocked.backUp(to: path)
        let inside = try #require(BackupFile(bytes: try FileSystem.read(path))?.open(key: bench.key))
        #expect(!inside.contains { $0.path == planted }, "what is no history is not taken along")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(await Workbench.refusal { try await unlocked.backUp(to: path) } == .fileExists(path: path))
        let other = try Workbench()
        try await Self.restore(path, to: other)
        let there = try await other.open(pin: "654321")
        #expect(try await Workbench.names(there) == ["ada"])
        #expect(try await there.uses().uses.count == 1)
        #expect(try await there.portableSlots() == (1, 0))
        #expect(other.refusal() == nil)
        let nowhere = bench.root + "/missing/backup"
        guard case .cannotWriteBackup? = await Workbench.refusal({ try await unlocked.backUp(to: nowhere) }) else {
            Issue.record("a missing folder is not told")
            return
        }
        let poor = try Workbench()
        try poor.createWithoutPIN()
        let empty = try poor.unlock()
        #expect(await Workbench.refusal { try await empty.backUp(to: path + "2") } == .noPortableSlot)
        #expect(!(try FileSystem.names(bench.root).contains("backup2")))
    }

    @Test("A restore goes nowhere but into an empty place, and a wrong passphrase changes nothing")
    func refused() async throws {
        let (bench, unlocked, path) = try await Self.prepare()
        try await unlocked.backUp(to: path)
        let other = try Workbench()
        #expect(await Workbench.refusal { try await Self.restore(path, to: other, "wrong") } == .wrongSecret)
        #expect(try FileSystem.names(other.root).isEmpty)
        let before = try bench.snapshot()
        #expect(
            await Workbench.refusal { try await Self.restore(path, to: bench) } == .alreadyExists(path: bench.vault)
        )
        #expect(try bench.snapshot() == before)
        try await FileSystem.run("mkdir", "-m", "700", other.vault)
        try FileSystem.write(other.vault + "/letter.txt", [1])
        #expect(await Workbench.refusal { try await Self.restore(path, to: other) } == .notAVault(path: other.vault))
        let third = try Workbench()
        try third.createWithoutPIN()
        let foreign = try third.unlock()
        let backup = try await VaultBackup.read(path)
        #expect(
            await Workbench.refusal { try await foreign.unite(with: backup) }
                == .backupOfAnotherVault(path: third.vault)
        )
    }

    @Test("Every flipped byte of a backup and every shorter one is refused, and nothing is restored")
    func damaged() async throws {
        let (bench, unlocked, path) = try await Self.prepare()
        try await unlocked.backUp(to: path)
        let bytes = try FileSystem.read(path)
        let key = bench.key
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
        let other = try Workbench()
        #expect(await Workbench.refusal { try await Self.restore(path, to: other) } == .backupDamaged("its content"))
        #expect(try FileSystem.names(other.root).isEmpty)
        #expect(
            await Workbench.refusal { _ = try await VaultBackup.read(bench.root + "/none") }
                == .backupUnreadable(bench.root + "/none: it is missing")
        )
        try FileSystem.write(path, [1, 2, 3])
        #expect(await Workbench.refusal { _ = try await VaultBackup.read(path) } == .backupDamaged("its beginning"))
    }

    @Test("A restore that was cut short is done again, and is no vault before")
    func cutShort() async throws {
        let (_, unlocked, path) = try await Self.prepare()
        try await unlocked.backUp(to: path)
        let other = try Workbench()
        try await Self.restore(path, to: other)
        try await FileSystem.run("rm", "-r", other.vault + "/vault.json", other.state)
        #expect(other.refusal() == .incomplete(path: other.vault))
        try await Self.restore(path, to: other)
        #expect(try await Workbench.names(other.open(pin: "654321")) == ["ada", "bob"])
    }

    @Test("Into the same vault a backup is united: nothing newer is lost, nothing deleted comes back")
    func unite() async throws {
        let (bench, unlocked, path) = try await Self.prepare()
        let site = try #require(RelyingPartyID("example.com"))
        try await unlocked.noteUse(for: site, .signIn, .done)
        try await unlocked.backUp(to: path)
        try await unlocked.noteUse(for: site, .signIn, .done)
        let bob = try #require(try await unlocked.entries().first { $0.user?.name == "bob" }).record
        try await unlocked.delete(bob)
        try await unlocked.add(.fresh(user: "later"))
        let backup = try await VaultBackup.read(path)
        #expect(try await unlocked.unite(with: backup) == 0)
        #expect(try await Workbench.names(unlocked) == ["ada", "later"])
        // A vault that lost everything has it back, but for what was deleted.
        try await FileSystem.run("rm", "-r", bench.vault + "/records", bench.vault + "/slots")
        let person = UnlockedVault(files: try bench.open().files, key: bench.key, notes: [], failure: FailureBox())
        #expect(try await person.unite(with: backup) == 3)
        #expect(try await Workbench.names(bench.unlock()) == ["ada"])
    }

    @Test("What a server planted under a replaced key is not taken over with a backup, and what is lost is told first")
    func planted() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        let unlocked = try bench.unlock()
        for user in ["ada", "bob"] { try await unlocked.add(.fresh(user: user)) }
        try await unlocked.addPassphrase(.typed(), replacing: false, scrypt: Workbench.scrypt)
        let vault = try bench.open()
        let next = "glider museum ochre tactful banjo"
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(next),
            recoveryCode: nil,
            scrypt: Workbench.scrypt
        )
        let path = bench.root + "/backup"
        try await unlocked.backUp(to: path)
        let entries = try await unlocked.entries()
        try await unlocked.add(.fresh(user: "later"))
        let later = try #require(try await unlocked.entries().first { $0.user?.name == "later" }).record
        try await FileSystem.run("rm", "-r", bench.vault + "/records/\(later)")
        for entry in entries {
            try await PasskeyTests.plant(
                .deletion,
                in: bench,
                vault: vault,
                key: bench.key,
                id: entry.record,
                counter: 50
            )
        }
        let backup = try await VaultBackup.read(path)
        let person = try await Workbench.acceptance(bench, pin: "123456")
        let shown = try await person.difference(unitedWith: backup)
        #expect(shown == VaultDifference(missing: 1))
        let other = VaultDifference()
        #expect(await Workbench.refusal { try await person.unite(with: backup, expecting: other) } == .changedMeanwhile)
        #expect(await Workbench.refusal { try await person.accept(expecting: other) } == .changedMeanwhile)
        #expect(try await person.unite(with: backup, expecting: shown) == 0)
        let here = try await bench.open(pin: "123456")
        #expect(try await Workbench.names(here) == ["ada", "bob"])
        #expect(here.notes.count == 2)
        // Where vault.json was withheld and they were planted, likewise.
        let there = try Workbench()
        try await FileSystem.run("mkdir", "-m", "700", there.vault)
        for entry in entries {
            try await PasskeyTests.plant(
                .deletion,
                in: there,
                vault: vault,
                key: bench.key,
                id: entry.record,
                counter: 50
            )
        }
        try await Self.restore(path, to: there, next)
        #expect(try await Workbench.names(there.open(pin: "654321")) == ["ada", "bob"])
    }

    @Test("A backup from before a rekeying is restored where the vault was lost and its memory was kept; damage too")
    func unreadableMemory() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        try await unlocked.addPassphrase(.typed(), replacing: false, scrypt: Workbench.scrypt)
        let path = bench.root + "/backup"
        try await unlocked.backUp(to: path)
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: nil,
            recoveryCode: nil,
            scrypt: Workbench.scrypt
        )
        let state = try bench.stateOfVault()
        try await FileSystem.run("rm", "-r", bench.vault)
        let pin = try FileSystem.read(state + "/pin")
        let lost = VaultError.memoryUnreadable(path: state)
        #expect(await Workbench.refusal { try await Self.restore(path, to: bench) } == lost)
        #expect(try FileSystem.read(state + "/pin") == pin)
        _ = try await VaultBackup.read(path)
            .restore(
                to: bench.vault,
                stateDirectory: bench.state,
                secret: .passphrase(.typed()),
                pin: .typed("654321"),
                forgettingSeen: true,
                scrypt: Workbench.scrypt,
                clock: bench.clock
            )
        #expect(try await Workbench.names(bench.open(pin: "654321")) == ["ada"])
        for name in ["pin", "attempts", "device"] {
            try FileSystem.write(state + "/" + name, [1, 2, 3])
            try await bench.join(.passphrase(.typed()))
            #expect(try await Workbench.names(bench.open(pin: "654321")) == ["ada"])
        }
        try FileSystem.write(state + "/seen", [1, 2, 3])
        #expect(await Workbench.refusal { try await bench.join(.passphrase(.typed())) } == lost)
    }

    @Test("A backup from before a rekeying is taken over under the new key, without its passphrase")
    func beforeRekeying() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        try await unlocked.addPassphrase(.typed(), replacing: false, scrypt: Workbench.scrypt)
        try await unlocked.backUp(to: bench.root + "/backup")
        let next = "glider museum ochre tactful banjo"
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(next),
            recoveryCode: nil,
            scrypt: Workbench.scrypt
        )
        try await FileSystem.run("rm", "-r", bench.vault + "/records")
        let person = try await Workbench.acceptance(bench, pin: "123456")
        try await person.unite(with: VaultBackup.read(bench.root + "/backup"))
        let again = try await bench.open(pin: "123456")
        #expect(try await Workbench.names(again) == ["ada"])
        #expect(try await again.portableSlots() == (1, 0))
        #expect(again.notes.isEmpty)
    }

    @Test("Sites are told of a second place only while every passkey is in the last backup")
    func backedUp() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        let first = try await bench.open(pin: "123456")
        try await first.addPassphrase(.typed(), replacing: false, scrypt: Workbench.scrypt)
        try await first.add(.fresh())
        #expect(!first.isBackedUp)
        try await first.backUp(to: bench.root + "/one")
        #expect(first.isBackedUp)
        #expect(try await bench.open(pin: "123456").isBackedUp)
        try await first.add(.fresh())
        #expect(!first.isBackedUp)
        #expect(try await !bench.open(pin: "123456").isBackedUp)
        try await first.backUp(to: bench.root + "/two")
        #expect(try await bench.open(pin: "123456").isBackedUp)
        let status = try Vault.status(directory: bench.vault, stateDirectory: bench.state, clock: bench.clock)
        #expect(status.lastBackup == 1_700_000_000)
    }

    @Test(
        "A path in a backup leads nowhere but into the vault",
        arguments: [
            "", "/", "..", "../x", "vault.json", "records/../../x", "records/x/1-0011223344556677", "slots/..",
            "slots/00112233445566778899aabbccddeeff/x", "/slots/00112233445566778899aabbccddeeff", "uses/1/1",
            "keys/00112233445566778899aabbccddeeff-x", "uses/0011223344556677/01", "records",
            "records/00112233445566778899aabbccddeeff/1-0011223344556677.copy", "slots/\u{0}",
        ]
    )
    func paths(path: String) { #expect(VaultPath(path) == nil) }
}
