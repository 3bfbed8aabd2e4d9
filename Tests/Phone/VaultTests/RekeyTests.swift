// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import Synchronization
import Testing

@testable import HybridVault

@Suite("Rekey", .serialized)
struct RekeyTests {
    /// Returns a vault with a PIN, a passphrase, and three records of which one is deleted.
    private static func prepare() async throws -> (VaultFixture, UnlockedVault) {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        for user in ["ada", "bob", "gone"] { try await unlocked.add(.fresh(user: user)) }
        let gone = try #require(try await unlocked.summaries().first { $0.user?.name == "gone" })
        try await unlocked.delete(gone.record)
        try await unlocked.addPassphrase(.typed(), replacing: false)
        try await unlocked.recordUse(for: try #require(RelyingPartyID("example.com")), .signIn, .done)
        return (fixture, unlocked)
    }

    private static let next = "glider museum ochre tactful banjo"

    @Test("Everything opens as before on this device, and nothing remains under the old key")
    func here() async throws {
        let (fixture, unlocked) = try await Self.prepare()
        let old = fixture.key
        let identity = try fixture.open().files.identity
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(Self.next),
            recoveryCode: nil
        )
        #expect(try await VaultFixture.names(unlocked) == ["ada", "bob"])
        try await unlocked.add(.fresh(user: "new"))
        let again = try await fixture.open(pin: "123456")
        #expect(try await VaultFixture.names(again) == ["ada", "bob", "new"])
        #expect(again.warnings.isEmpty)
        #expect(try await again.uses().uses.count == 1)
        for path in try fixture.recordFiles() {
            let file = try #require(RecordFile(bytes: try FileSystem.read(path)))
            #expect(file.open(key: old, identity: identity) == nil, "\(path) still opens with the old key")
        }
        #expect(try await again.portableSlots() == (1, 0))
        #expect(!(try FileSystem.names(fixture.stateOfVault()).contains("next")))
        let other = try await fixture.copy()
        #expect(await VaultFixture.refusal { try await other.join(.passphrase(.typed())) } == .wrongSecret)
        try await other.join(.passphrase(.typed(Self.next)))
        #expect(try await VaultFixture.names(other.open(pin: "654321")) == ["ada", "bob", "new"])
    }

    @Test("A wrong PIN, a weak passphrase or a rolled-back vault changes nothing")
    func refused() async throws {
        let (fixture, unlocked) = try await Self.prepare()
        let before = try fixture.snapshot()
        #expect(
            await VaultFixture.refusal {
                try await unlocked.rekey(pin: .typed("000000"), passphrase: nil, recoveryCode: nil)
            } == .wrongSecret
        )
        let weak = try Passphrase.typed("hello")
        #expect(
            await VaultFixture.refusal {
                try await unlocked.rekey(pin: .typed("123456"), passphrase: weak, recoveryCode: nil)
            } == .passphraseTooWeak(bits: weak.strength)
        )
        #expect(try fixture.snapshot() == before)
        #expect(try await unlocked.portableSlots() == (1, 0))
        // Not a file of the deleted record, whose first revision may be missing.
        let record = try #require(try await unlocked.summaries().first).record
        let path = try #require(try fixture.recordFiles().first { $0.contains("/\(record)/") })
        try await FileSystem.run("mv", path, fixture.root + "/kept")
        #expect(
            await VaultFixture.refusal {
                try await unlocked.rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil)
            } == .rolledBack
        )
        #expect(!(try FileSystem.names(fixture.vault).contains("keys")))
        try await FileSystem.run("mv", fixture.root + "/kept", path)
        #expect(try fixture.snapshot() == before)
    }

    @Test("Another device reports the replaced key and joins with the new passphrase; its own work is kept")
    func elsewhere() async throws {
        let (fixture, unlocked) = try await Self.prepare()
        let other = try await fixture.copy()
        try await other.join(.passphrase(.typed()))
        let there = try await other.open(pin: "654321")
        // Written on the other device under the old key, during the rekey.
        try await there.add(.fresh(user: "offline"))
        let bob = try #require(try await there.summaries().first { $0.user?.name == "bob" })
        try await there.delete(bob.record)
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(Self.next),
            recoveryCode: nil
        )
        let merge = "cp -rn \(fixture.vault)/. \(other.vault)/; cp -rn \(other.vault)/. \(fixture.vault)/ || true"
        try await FileSystem.run("sh", "-c", merge)
        let refused = try await other.unlockFailure(pin: "654321")
        #expect(refused == .unusable(VaultError.rekeyedElsewhere.sentence))
        #expect(await VaultFixture.refusal { _ = try await there.summaries() } == .rekeyedElsewhere)
        try await other.join(.passphrase(.typed(Self.next)))

        // Revisions under the old key cause warnings, and become current when the user accepts them.
        let here = try await fixture.open(pin: "123456")
        #expect(try await VaultFixture.names(here) == ["ada", "bob"])
        #expect(here.warnings.count == 2, "\(here.warnings)")
        #expect(here.warnings.allSatisfy { $0.reason.contains("replaced") })
        let difference = VaultDifference(underReplacedKey: 1, deletedUnderReplacedKey: 1)
        #expect(try await here.difference() == difference)
        #expect(try await here.accept(expecting: difference) == difference)
        #expect(try await VaultFixture.names(here) == ["ada", "offline"])
        try await FileSystem.run("sh", "-c", merge)
        _ = try await VaultFixture.acceptance(other, pin: "654321").accept()
        #expect(try await VaultFixture.names(other.open(pin: "654321")) == ["ada", "offline"])
    }

    @Test("A holder of only the old key can neither delete, change nor restore a passkey")
    func thief() async throws {
        let (fixture, unlocked) = try await Self.prepare()
        let vault = try fixture.open()
        let records = try await unlocked.summaries().map(\.record)
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(Self.next),
            recoveryCode: nil
        )
        for record in records {
            try await PasskeyTests.plant(
                .deletion,
                in: fixture,
                vault: vault,
                key: fixture.key,
                id: record,
                counter: 50
            )
            let members = PasskeyBody(try .fresh(user: "forged"), order: 1, created: 1).members
            let body = RecordBody(kind: RecordBody.passkey, members: members)
            try await PasskeyTests.plant(body, in: fixture, vault: vault, key: fixture.key, id: record, counter: 60)
        }
        #expect(try await VaultFixture.names(fixture.open(pin: "123456")) == ["ada", "bob"])
        #expect(try await VaultFixture.names(unlocked) == ["ada", "bob"])
        // Another rekey does not take them over either, and leaves them for the user.
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(Self.next + " again"),
            recoveryCode: nil
        )
        let again = try await fixture.open(pin: "123456")
        #expect(try await VaultFixture.names(again) == ["ada", "bob"])
        #expect(again.warnings.count == 4, "\(again.warnings)")
    }

    @Test("A vault opened before a rekey cannot change the PIN after it, whatever the server withholds")
    func overtaken() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let waiting = try fixture.unlock()
        try await waiting.add(.fresh(user: "ada"))
        try await fixture.unlock()
            .rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil)
        let before = try FileSystem.read(fixture.stateOfVault() + "/pin")
        for withheld in [false, true] {
            if withheld { try await FileSystem.run("mv", fixture.vault + "/keys", fixture.root + "/keys") }
            let pin = try PIN.typed("777777")
            #expect(
                await VaultFixture.refusal { try await waiting.changePIN(to: pin) } == .locked
            )
            #expect(
                await VaultFixture.refusal {
                    try await waiting.addPassphrase(.typed(), replacing: false)
                } == .locked
            )
        }
        #expect(try FileSystem.read(fixture.stateOfVault() + "/pin") == before)
        try await FileSystem.run("mv", fixture.root + "/keys", fixture.vault + "/keys")
        #expect(try await VaultFixture.names(fixture.open(pin: "123456")) == ["ada"])
    }

    /// Adds forged slots to the vault.
    private static func plantSlots(_ count: Int, in fixture: VaultFixture) throws {
        let identity = try VaultIdentity.read(FileSystem.read(fixture.vault + "/vault.json"))
        let forged = try PortableSlot(
            wrapping: SymmetricKey(size: .bits256),
            secret: .passphrase(.typed()),
            identity: identity,
            scrypt: Scrypt.lowest
        )
        for number in 0..<count {
            var body = Array(forged.bytes.dropLast(32))
            body[28] = UInt8(number)
            try FileSystem.write(
                fixture.vault + "/slots/" + Hex.encode([UInt8(number)] + [UInt8].random(15)),
                body + Sealing.checksum(body)
            )
        }
    }

    @Test("Forged slots neither stop a rekey nor keep one from being finished")
    func manySlots() async throws {
        let (rekeyed, unlocked) = try await Self.prepare()
        try Self.plantSlots(100, in: rekeyed)
        try await unlocked.rekey(
            pin: .typed("123456"),
            passphrase: .typed(Self.next),
            recoveryCode: nil
        )
        #expect(try FileSystem.names(rekeyed.vault + "/slots").count == 1)
        // A rekey interrupted after its link is finished, however many slots there are by then.
        let (fixture, _) = try await Self.prepare()
        let files = try fixture.open().files
        let new = SymmetricKey(size: .bits256)
        try files.state.write(next: new, under: fixture.key, isCommitted: false)
        let link = try KeyLink(from: fixture.key, to: new, identity: files.identity)
        try await FileSystem.run("mkdir", fixture.vault + "/keys")
        try FileSystem.write(fixture.vault + "/keys/" + link.fileName, link.bytes)
        try Self.plantSlots(200, in: fixture)
        #expect(try await VaultFixture.names(fixture.open(pin: "123456")) == ["ada", "bob"])
        #expect(try FileSystem.names(fixture.vault + "/slots").isEmpty)
        #expect(!files.state.isRekeying)
    }

    @Test("A committed new key is current, whatever a server withholds; before, nothing of it remains")
    func cutShort() async throws {
        let (fixture, _) = try await Self.prepare()
        let files = try fixture.open().files
        for isCommitted in [false, true] {
            let new = SymmetricKey(size: .bits256)
            try files.state.write(next: new, under: fixture.key, isCommitted: isCommitted)
            let secret = PortableSecret.passphrase(try .typed(Self.next))
            let slot = try PortableSlot(
                wrapping: new,
                secret: secret,
                identity: files.identity,
                scrypt: Scrypt.lowest
            )
            try PortableSlots.write(slot, in: files.directory)
            let again = await VaultFixture.refusal {
                try await fixture.unlock()
                    .rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil)
            }
            #expect(again == .locked, "an interrupted one is finished first")
            if isCommitted {
                // A file of that name that is not a link.
                let link = try KeyLink(from: fixture.key, to: new, identity: files.identity)
                try await FileSystem.run("mkdir", fixture.vault + "/keys")
                try FileSystem.write(fixture.vault + "/keys/" + link.fileName, [1, 2, 3])
            }
            let opened = try await fixture.open(pin: "123456")
            #expect(try await VaultFixture.names(opened) == ["ada", "bob"])
            #expect(!files.state.isRekeying)
            #expect(try await opened.portableSlots() == (1, 0))
            #expect(try FileSystem.names(fixture.vault + "/slots").count == 1)
            #expect(try FileSystem.names(fixture.vault + "/slots").contains(slot.fileName) == isCommitted)
            #expect(try FileSystem.names(fixture.vault).contains("keys") == isCommitted)
        }
        let other = try await fixture.copy()
        try await other.join(.passphrase(.typed(Self.next)))
        #expect(try await VaultFixture.names(other.open(pin: "654321")) == ["ada", "bob"])
    }

    @Test("A rekey is committed on this device before its link informs the others")
    func committedFirst() async throws {
        let (fixture, _) = try await Self.prepare()
        let files = try fixture.open().files
        let replaced = Mutex<[String]>([])
        let record: @Sendable (FileStep) -> Void = { step in
            if case .renamed(_, let path) = step { replaced.withLock { $0.append(path) } }
        }
        _ = try FileStep.$recorder.withValue(
            record,
            operation: { try files.rekey(key: fixture.key, pin: .typed("123456"), secrets: []) }
        )
        let paths = replaced.withLock { $0 }
        let link = try #require(paths.firstIndex { $0.contains("/\(VaultDirectory.keysName)/") })
        #expect(paths[..<link].count { $0.hasSuffix("/" + PendingVaultKey.fileName) } == 2, "begun and committed")
    }

    @Test("A forged counter stops a rekey before it begins, and is never taken over")
    func highestCounter() async throws {
        let (fixture, unlocked) = try await Self.prepare()
        let vault = try fixture.open()
        func rekey(_ passphrase: String) async -> VaultError? {
            await VaultFixture.refusal {
                try await unlocked.rekey(
                    pin: .typed("123456"),
                    passphrase: .typed(passphrase),
                    recoveryCode: nil
                )
            }
        }
        let body = RecordBody(
            kind: RecordBody.passkey,
            members: PasskeyBody(try .fresh(user: "forged"), order: 1, created: 1).members
        )
        let id = RecordID.random()
        try await PasskeyTests.plant(body, in: fixture, vault: vault, key: fixture.key, id: id, counter: .max)
        guard case .tooLarge(let what)? = await rekey(Self.next) else {
            Issue.record("the rekey began")
            return
        }
        #expect(what.contains("records/\(id)/\(UInt64.max)"))
        #expect(!vault.files.state.isRekeying)
        #expect(!(try FileSystem.names(fixture.vault).contains("keys")))
        try await FileSystem.run("rm", "-r", "\(fixture.vault)/records/\(id)")
        _ = try await VaultFixture.acceptance(fixture, pin: "123456").accept()
        #expect(await rekey(Self.next) == nil)
        try await PasskeyTests.plant(body, in: fixture, vault: vault, key: fixture.key, id: id, counter: .max)
        let again = try await fixture.open(pin: "123456")
        #expect(again.warnings.contains { $0.reason.contains("impossible number") })
        #expect(try await VaultFixture.acceptance(fixture, pin: "123456").accept().isEmpty)
        #expect(await rekey(Self.next + " again") == nil)
        #expect(try await VaultFixture.names(fixture.open(pin: "123456")) == ["ada", "bob"])
    }

    @Test("Files of a device that rekeyed at the same time are set aside; without the own files they are not enough")
    func forked() async throws {
        let (fixture, unlocked) = try await Self.prepare()
        let vault = try fixture.open()
        try await unlocked.rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil)
        let elsewhere = SymmetricKey(size: .bits256)
        let link = try KeyLink(from: fixture.key, to: elsewhere, identity: vault.files.identity)
        try FileSystem.write(fixture.vault + "/keys/" + link.fileName, link.bytes)
        let record = try #require(try await unlocked.summaries().first).record
        let members = PasskeyBody(try .fresh(user: "theirs"), order: 1, created: 1).members
        let body = RecordBody(kind: RecordBody.passkey, members: members)
        for id in [record, .random()] {
            try await PasskeyTests.plant(body, in: fixture, vault: vault, key: elsewhere, id: id, counter: 9)
        }
        let opened = try await fixture.open(pin: "123456")
        #expect(try await VaultFixture.names(opened) == ["ada", "bob"])
        let reasons = opened.warnings.map(\.reason)
        #expect(reasons.count == 3)
        #expect(reasons.allSatisfy { $0.contains("a different key") || $0.contains("another key") }, "\(reasons)")
        for path in try fixture.recordFiles() where path.contains("/\(record)/") && !path.contains("/9-") {
            try await FileSystem.run("rm", path)
        }
        #expect(try await fixture.unlockFailure() == .unusable(VaultError.rekeyedElsewhere.sentence))
    }

    @Test("A forged link causes a warning and locks out no device")
    func forgedLink() async throws {
        let (fixture, unlocked) = try await Self.prepare()
        let identity = try fixture.open().files.identity
        let link = try KeyLink(from: SymmetricKey(size: .bits256), to: SymmetricKey(size: .bits256), identity: identity)
        var bytes = link.bytes
        bytes.replaceSubrange(43..<59, with: VaultKeyID(of: fixture.key, identity: identity).bytes)
        try await FileSystem.run("mkdir", fixture.vault + "/keys")
        try FileSystem.write(fixture.vault + "/keys/forged", bytes)
        try FileSystem.write(fixture.vault + "/keys/huge", [UInt8](repeating: 1, count: 100_000))
        #expect(try await VaultFixture.names(unlocked) == ["ada", "bob"])
        let again = try fixture.unlock()
        #expect(again.warnings.map(\.path) == ["keys/huge", "keys/" + (KeyLink(bytes: bytes)?.fileName ?? "")])
    }

    @Test("A thief of the key cannot make the ring of keys longer than its limit")
    func longRing() throws {
        let identity = VaultIdentity.random(isTest: false)
        let fixture = try VaultFixture()
        let keys = try Directory.make(path: fixture.vault).makeSubdirectory(VaultDirectory.keysName)
        var newest = fixture.key
        for _ in 0..<80 {
            let old = SymmetricKey(size: .bits256)
            let link = try KeyLink(from: old, to: newest, identity: identity)
            try keys.write(link.fileName, link.bytes, replacing: false)
            newest = old
        }
        let ring = try VaultKeyRing(fixture.key, in: Directory.open(path: fixture.vault), identity: identity)
        #expect(ring.keys.count == 65 && ring.newest == fixture.key)
    }

    @Test("A link with any flipped byte is refused under both keys")
    func flippedLink() throws {
        let (old, new) = (SymmetricKey(size: .bits256), SymmetricKey(size: .bits256))
        let link = try KeyLink(from: old, to: new, identity: .random(isTest: false))
        #expect(link.open(with: new) == old)
        #expect(link.isAuthentic(under: old))
        #expect(!link.isAuthentic(under: new))
        #expect(link.open(with: old) == nil)
        for index in link.bytes.indices {
            var bytes = link.bytes
            bytes[index] ^= 4
            guard let read = KeyLink(bytes: bytes) else { continue }
            #expect(!read.isAuthentic(under: old), "byte \(index)")
            #expect(index >= 119 || read.open(with: new) == nil, "byte \(index)")
        }
        for length in 0..<link.bytes.count { #expect(KeyLink(bytes: Array(link.bytes.prefix(length))) == nil) }
    }

    @Test("After several rekeys, content under any earlier key is still recognized")
    func again() async throws {
        let (fixture, unlocked) = try await Self.prepare()
        let old = try await fixture.copy()
        for round in 1...3 {
            try await unlocked.rekey(
                pin: .typed("123456"),
                passphrase: .typed(Self.next + " \(round)"),
                recoveryCode: nil
            )
        }
        // Files of the first key that return are recognized but not current.
        try await FileSystem.run("sh", "-c", "cp -rn \(old.vault)/. \(fixture.vault)/ || true")
        let again = try await fixture.open(pin: "123456")
        #expect(try await VaultFixture.names(again) == ["ada", "bob"])
        #expect(again.warnings.isEmpty, "\(again.warnings)")
        #expect(try await again.portableSlots() == (1, 0), "the slot of the first key is not current")
    }
}

extension VaultFixture {
    /// Opens the vault without checking the records.
    static func acceptance(_ fixture: VaultFixture, pin: String) async throws -> UnlockedVault {
        try await fixture.open().unlockVault(with: .typed(pin), checkingRecords: false)
    }
}
