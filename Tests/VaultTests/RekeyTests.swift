// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import Testing

@testable import HybridVault

@Suite("Another vault key", .serialized)
struct RekeyTests {
    /// A vault with a PIN, a passphrase, and three records of which one is deleted.
    private static func prepare() async throws -> (Workbench, UnlockedVault) {
        let bench = try Workbench()
        _ = try await bench.create()
        let unlocked = try bench.unlock()
        for user in ["ada", "bob", "gone"] { try await unlocked.add(.fresh(user: user)) }
        let gone = try #require(try await unlocked.entries().first { $0.user?.name == "gone" })
        try await unlocked.delete(gone.record)
        try await unlocked.addPassphrase(.typed(), replacing: false, scrypt: Workbench.scrypt)
        try await unlocked.noteUse(for: try #require(RelyingPartyID("example.com")), .signIn, .done)
        return (bench, unlocked)
    }

    private static let next = "glider museum ochre tactful banjo"

    @Test("Everything opens as before on this device, and nothing is left under the old key")
    func here() async throws {
        let (bench, unlocked) = try await Self.prepare()
        let old = bench.key
        let identity = try bench.open().files.identity
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(Self.next),
            recoveryCode: nil,
            scrypt: Workbench.scrypt
        )
        #expect(try await Workbench.names(unlocked) == ["ada", "bob"])
        try await unlocked.add(.fresh(user: "new"))
        let again = try await bench.open(pin: "123456")
        #expect(try await Workbench.names(again) == ["ada", "bob", "new"])
        #expect(again.notes.isEmpty)
        #expect(try await again.uses().uses.count == 1)
        for path in try bench.recordFiles() {
            let file = try #require(RecordFile(bytes: try FileSystem.read(path)))
            #expect(file.open(key: old, identity: identity) == nil, "\(path) still opens with the old key")
        }
        #expect(try await again.portableSlots() == (1, 0))
        #expect(!(try FileSystem.names(bench.stateOfVault()).contains("next")))
        let other = try await bench.copy()
        #expect(await Workbench.refusal { try await other.join(.passphrase(.typed())) } == .wrongSecret)
        try await other.join(.passphrase(.typed(Self.next)))
        #expect(try await Workbench.names(other.open(pin: "654321")) == ["ada", "bob", "new"])
    }

    @Test("A wrong PIN, a weak passphrase or a rolled-back vault changes nothing")
    func refused() async throws {
        let (bench, unlocked) = try await Self.prepare()
        let before = try bench.snapshot()
        #expect(
            await Workbench.refusal {
                try await unlocked.rekey(pin: .typed("000000"), passphrase: nil, recoveryCode: nil)
            } == .wrongSecret
        )
        let weak = try Passphrase.typed("hello")
        #expect(
            await Workbench.refusal {
                try await unlocked.rekey(pin: .typed("123456"), passphrase: weak, recoveryCode: nil)
            } == .passphraseTooWeak(bits: weak.strength)
        )
        #expect(try bench.snapshot() == before)
        #expect(try await unlocked.portableSlots() == (1, 0))
        // Not one of the deleted record: its first revision may be missing.
        let record = try #require(try await unlocked.entries().first).record
        let path = try #require(try bench.recordFiles().first { $0.contains("/\(record)/") })
        try await FileSystem.run("mv", path, bench.root + "/kept")
        #expect(
            await Workbench.refusal {
                try await unlocked.rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil)
            } == .rolledBack
        )
        #expect(!(try FileSystem.names(bench.vault).contains("keys")))
        try await FileSystem.run("mv", bench.root + "/kept", path)
        #expect(try bench.snapshot() == before)
    }

    @Test("Another device says that the key was replaced, and joins with the new passphrase; its own work is kept")
    func elsewhere() async throws {
        let (bench, unlocked) = try await Self.prepare()
        let other = try await bench.copy()
        try await other.join(.passphrase(.typed()))
        let there = try await other.open(pin: "654321")
        // Written elsewhere under the old key, while this device replaces it.
        try await there.add(.fresh(user: "offline"))
        let bob = try #require(try await there.entries().first { $0.user?.name == "bob" })
        try await there.delete(bob.record)
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(Self.next),
            recoveryCode: nil,
            scrypt: Workbench.scrypt
        )
        let merge = "cp -rn \(bench.vault)/. \(other.vault)/; cp -rn \(other.vault)/. \(bench.vault)/"
        try await FileSystem.run("sh", "-c", merge)
        let refused = try await other.unlockFailure(pin: "654321")
        #expect(refused == .unusable(VaultError.rekeyedElsewhere.sentence))
        #expect(await Workbench.refusal { _ = try await there.entries() } == .rekeyedElsewhere)
        try await other.join(.passphrase(.typed(Self.next)))

        // What came under the old key is told, and counts when a person says so.
        let here = try await bench.open(pin: "123456")
        #expect(try await Workbench.names(here) == ["ada", "bob"])
        #expect(here.notes.count == 2, "\(here.notes)")
        #expect(here.notes.allSatisfy { $0.reason.contains("replaced") })
        let difference = VaultDifference(underReplacedKey: 1, deletedUnderReplacedKey: 1)
        #expect(try await here.difference() == difference)
        #expect(try await here.accept(expecting: difference) == difference)
        #expect(try await Workbench.names(here) == ["ada", "offline"])
        try await FileSystem.run("sh", "-c", merge)
        _ = try await Workbench.acceptance(other, pin: "654321").accept()
        #expect(try await Workbench.names(other.open(pin: "654321")) == ["ada", "offline"])
    }

    @Test("Whoever has only the old key can neither delete, change nor bring back a passkey")
    func thief() async throws {
        let (bench, unlocked) = try await Self.prepare()
        let vault = try bench.open()
        let records = try await unlocked.entries().map(\.record)
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(Self.next),
            recoveryCode: nil,
            scrypt: Workbench.scrypt
        )
        for record in records {
            try await PasskeyTests.plant(.deletion, in: bench, vault: vault, key: bench.key, id: record, counter: 50)
            let members = PasskeyBody(try .fresh(user: "forged"), order: 1, created: 1).members
            let body = RecordBody(kind: RecordBody.passkey, members: members)
            try await PasskeyTests.plant(body, in: bench, vault: vault, key: bench.key, id: record, counter: 60)
        }
        #expect(try await Workbench.names(bench.open(pin: "123456")) == ["ada", "bob"])
        #expect(try await Workbench.names(unlocked) == ["ada", "bob"])
        // Another rekeying takes nothing of it over either, and leaves it for a person to judge.
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(Self.next + " again"),
            recoveryCode: nil,
            scrypt: Workbench.scrypt
        )
        let again = try await bench.open(pin: "123456")
        #expect(try await Workbench.names(again) == ["ada", "bob"])
        #expect(again.notes.count == 4, "\(again.notes)")
    }

    @Test("Who opened the vault before a rekeying changes no PIN after it, whatever the server withholds")
    func overtaken() async throws {
        let bench = try Workbench()
        _ = try await bench.create()
        let waiting = try bench.unlock()
        try await waiting.add(.fresh(user: "ada"))
        try await bench.unlock()
            .rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil, scrypt: Workbench.scrypt)
        let before = try FileSystem.read(bench.stateOfVault() + "/pin")
        for withheld in [false, true] {
            if withheld { try await FileSystem.run("mv", bench.vault + "/keys", bench.root + "/keys") }
            let pin = try PIN.typed("777777")
            #expect(
                await Workbench.refusal { try await waiting.changePIN(to: pin, scrypt: Workbench.scrypt) } == .locked
            )
            #expect(
                await Workbench.refusal {
                    try await waiting.addPassphrase(.typed(), replacing: false, scrypt: Workbench.scrypt)
                } == .locked
            )
        }
        #expect(try FileSystem.read(bench.stateOfVault() + "/pin") == before)
        try await FileSystem.run("mv", bench.root + "/keys", bench.vault + "/keys")
        #expect(try await Workbench.names(bench.open(pin: "123456")) == ["ada"])
    }

    /// Puts slots into the vault that a sync server made up.
    private static func plantSlots(_ count: Int, in bench: Workbench) throws {
        let identity = try VaultIdentity.read(FileSystem.read(bench.vault + "/vault.json"))
        let forged = try PortableSlot(
            wrapping: SymmetricKey(size: .bits256),
            secret: .passphrase(.typed()),
            identity: identity,
            scrypt: Workbench.scrypt
        )
        for number in 0..<count {
            var body = Array(forged.bytes.dropLast(32))
            body[28] = UInt8(number)
            try FileSystem.write(
                bench.vault + "/slots/" + Hex.encode([UInt8(number)] + RandomBytes.make(15)),
                body + Sealing.checksum(body)
            )
        }
    }

    @Test("Slots without number stop a rekeying before it begins, never in the middle")
    func manySlots() async throws {
        let (bench, unlocked) = try await Self.prepare()
        let files = try bench.open().files
        try Self.plantSlots(31, in: bench)
        let before = try bench.snapshot()
        let refused = await Workbench.refusal {
            try await unlocked.rekey(
                pin: .typed("123456"),
                passphrase: .typed(Self.next),
                recoveryCode: nil,
                scrypt: Workbench.scrypt
            )
        }
        guard case .tooLarge? = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(try bench.snapshot() == before)
        #expect(!files.state.isRekeying)
        // One that was cut short after its link is finished, however many there are by then.
        let new = SymmetricKey(size: .bits256)
        try files.state.write(next: new, under: bench.key, isCommitted: false)
        let link = try KeyLink(from: bench.key, to: new, identity: files.identity)
        try await FileSystem.run("mkdir", bench.vault + "/keys")
        try FileSystem.write(bench.vault + "/keys/" + link.fileName, link.bytes)
        try Self.plantSlots(200, in: bench)
        #expect(try await Workbench.names(bench.open(pin: "123456")) == ["ada", "bob"])
        #expect(try FileSystem.names(bench.vault + "/slots").isEmpty)
        #expect(!files.state.isRekeying)
    }

    @Test("Once a new key is committed it counts, whatever a server withholds; before, nothing is left of it")
    func cutShort() async throws {
        let (bench, _) = try await Self.prepare()
        let files = try bench.open().files
        for isCommitted in [false, true] {
            let new = SymmetricKey(size: .bits256)
            try files.state.write(next: new, under: bench.key, isCommitted: isCommitted)
            let secret = PortableSecret.passphrase(try .typed(Self.next))
            let slot = try PortableSlot(
                wrapping: new,
                secret: secret,
                identity: files.identity,
                scrypt: Workbench.scrypt
            )
            try Slots.write(slot, in: files.directory)
            let again = await Workbench.refusal {
                try await bench.unlock()
                    .rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil, scrypt: Workbench.scrypt)
            }
            #expect(again == .locked, "one that was cut short is finished first")
            if isCommitted {
                // Something of that name that is no link.
                let link = try KeyLink(from: bench.key, to: new, identity: files.identity)
                try await FileSystem.run("mkdir", bench.vault + "/keys")
                try FileSystem.write(bench.vault + "/keys/" + link.fileName, [1, 2, 3])
            }
            let opened = try await bench.open(pin: "123456")
            #expect(try await Workbench.names(opened) == ["ada", "bob"])
            #expect(!files.state.isRekeying)
            #expect(try await opened.portableSlots() == (1, 0))
            #expect(try FileSystem.names(bench.vault + "/slots").count == 1)
            #expect(try FileSystem.names(bench.vault + "/slots").contains(slot.fileName) == isCommitted)
            #expect(try FileSystem.names(bench.vault).contains("keys") == isCommitted)
        }
        let other = try await bench.copy()
        try await other.join(.passphrase(.typed(Self.next)))
        #expect(try await Workbench.names(other.open(pin: "654321")) == ["ada", "bob"])
    }

    @Test("A counter that nobody reaches stops a rekeying before it begins, and is never taken over")
    func highestCounter() async throws {
        let (bench, unlocked) = try await Self.prepare()
        let vault = try bench.open()
        func rekey(_ passphrase: String) async -> VaultError? {
            await Workbench.refusal {
                try await unlocked.rekey(
                    pin: .typed("123456"),
                    passphrase: .typed(passphrase),
                    recoveryCode: nil,
                    scrypt: Workbench.scrypt
                )
            }
        }
        let body = RecordBody(
            kind: RecordBody.passkey,
            members: PasskeyBody(try .fresh(user: "forged"), order: 1, created: 1).members
        )
        let id = RecordID.random()
        try await PasskeyTests.plant(body, in: bench, vault: vault, key: bench.key, id: id, counter: .max)
        guard case .tooLarge(let what)? = await rekey(Self.next) else {
            Issue.record("it was begun")
            return
        }
        #expect(what.contains("records/\(id)/\(UInt64.max)"))
        #expect(!vault.files.state.isRekeying)
        #expect(!(try FileSystem.names(bench.vault).contains("keys")))
        try await FileSystem.run("rm", "-r", "\(bench.vault)/records/\(id)")
        _ = try await Workbench.acceptance(bench, pin: "123456").accept()
        #expect(await rekey(Self.next) == nil)
        try await PasskeyTests.plant(body, in: bench, vault: vault, key: bench.key, id: id, counter: .max)
        let again = try await bench.open(pin: "123456")
        #expect(again.notes.contains { $0.reason.contains("nobody reaches") })
        #expect(try await Workbench.acceptance(bench, pin: "123456").accept().isEmpty)
        #expect(await rekey(Self.next + " again") == nil)
        #expect(try await Workbench.names(bench.open(pin: "123456")) == ["ada", "bob"])
    }

    @Test("A link that a sync server made up is noted and shuts nobody out")
    func forgedLink() async throws {
        let (bench, unlocked) = try await Self.prepare()
        let identity = try bench.open().files.identity
        let link = try KeyLink(from: SymmetricKey(size: .bits256), to: SymmetricKey(size: .bits256), identity: identity)
        var bytes = link.bytes
        bytes.replaceSubrange(43..<59, with: KeyID(of: bench.key, identity: identity).bytes)
        try await FileSystem.run("mkdir", bench.vault + "/keys")
        try FileSystem.write(bench.vault + "/keys/forged", bytes)
        try FileSystem.write(bench.vault + "/keys/huge", [UInt8](repeating: 1, count: 100_000))
        #expect(try await Workbench.names(unlocked) == ["ada", "bob"])
        let again = try bench.unlock()
        #expect(again.notes.map(\.path) == ["keys/huge", "keys/" + (KeyLink(bytes: bytes)?.fileName ?? "")])
    }

    @Test("Every flipped byte of a link is refused by both keys")
    func flippedLink() throws {
        let (old, new) = (SymmetricKey(size: .bits256), SymmetricKey(size: .bits256))
        let link = try KeyLink(from: old, to: new, identity: .random(test: false))
        #expect(link.open(with: new) == old)
        #expect(link.isAnnounced(by: old))
        #expect(!link.isAnnounced(by: new))
        #expect(link.open(with: old) == nil)
        for index in link.bytes.indices {
            var bytes = link.bytes
            bytes[index] ^= 4
            guard let read = KeyLink(bytes: bytes) else { continue }
            #expect(!read.isAnnounced(by: old), "byte \(index)")
            #expect(index >= 119 || read.open(with: new) == nil, "byte \(index)")
        }
        for length in 0..<link.bytes.count { #expect(KeyLink(bytes: Array(link.bytes.prefix(length))) == nil) }
    }

    @Test("A vault is rekeyed again and again, and what is under any key before is still understood")
    func again() async throws {
        let (bench, unlocked) = try await Self.prepare()
        let old = try await bench.copy()
        for round in 1...3 {
            try await unlocked.rekey(
                pin: .typed("123456"),
                passphrase: .typed(Self.next + " \(round)"),
                recoveryCode: nil,
                scrypt: Workbench.scrypt
            )
        }
        // The files of the first key come back: they are known, and nothing more.
        try await FileSystem.run("sh", "-c", "cp -rn \(old.vault)/. \(bench.vault)/")
        let again = try await bench.open(pin: "123456")
        #expect(try await Workbench.names(again) == ["ada", "bob"])
        #expect(again.notes.isEmpty, "\(again.notes)")
        #expect(try await again.portableSlots() == (1, 0), "the slot of the first key does not count")
    }
}

extension Workbench {
    /// Opens without looking at the records.
    static func acceptance(_ bench: Workbench, pin: String) async throws -> UnlockedVault {
        try await bench.open().openForAcceptance(with: .typed(pin))
    }
}
