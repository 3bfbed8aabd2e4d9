// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import Testing

@testable import HybridVault

/// Two devices, and an attacker with the replaced key, its passphrase and write access to the synchronized directory.
@Suite("A rekey, and an attacker with the old key", .serialized)
struct RekeyStoryTests {
    private static let next = "glider museum ochre tactful banjo"

    /// The directory that an attacker made from a copy: a link to their own key, everything sealed under it, and a slot
    /// that the old passphrase opens.
    private static func forge(from copy: VaultFixture) async throws -> (VaultFixture, KeyFingerprint) {
        try await copy.join(.passphrase(.typed()))
        let stolen = try await copy.open(pin: "654321")
        let fingerprint = try await stolen.rekey(pin: .typed("654321"), passphrase: nil, recoveryCode: nil)
        let key = try await stolen.perform { key, _ in key }
        let (directory, identity) = try VaultDirectory.open(copy.location)
        let secret = PortableSecret.passphrase(try .typed())
        let slot = try PortableSlot(wrapping: key, secret: secret, identity: identity, scrypt: VaultFixture.scrypt)
        try PortableSlots.write(slot, in: directory)
        return (copy, fingerprint)
    }

    /// Replaces the synchronized directory of a device.
    private static func sync(_ source: VaultFixture, to device: VaultFixture) async throws {
        try await FileSystem.run("sh", "-c", "rm -rf \(device.vault) && cp -a \(source.vault) \(device.root)/")
    }

    /// Returns the contents of the files that decide which key a device follows.
    private static func memory(_ device: VaultFixture) throws -> [[UInt8]] {
        let state = try device.stateOfVault()
        return try ["pin", "device", "seen", "slots"].map { try FileSystem.read("\(state)/\($0)") }
    }

    private static func join(_ device: VaultFixture, _ text: String, _ compared: KeyFingerprint? = nil) async throws {
        let secret = PortableSecret.passphrase(try .typed(text))
        _ = try await Vault.join(at: device.location, secret: secret, pin: .typed("654321"), comparedAs: compared)
    }

    @Test("The attacker's key is sealed under by no device; the fingerprints tell the keys apart")
    func story() async throws {
        func tell(_ line: String) { print("rekey story: \(line)") }
        // Device A makes the vault, device B joins it with the first passphrase.
        let a = try VaultFixture()
        _ = try await a.create()
        let here = try a.unlock()
        try await here.add(.fresh(user: "ada"))
        try await here.addPassphrase(.typed(), replacing: false)
        let first = try #require(try Vault.status(at: a.location).keyFingerprint)
        let b = try await a.copy()
        #expect(
            await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText) }
                == .keyNotCompared(first, isReplacement: false)
        )
        try await Self.join(b, Passphrase.strongText, first)
        #expect(try Vault.status(at: b.location).keyFingerprint == first)
        tell("A and B show \(first)")

        // The passphrase leaks; the attacker copies the directory. A gives the vault a new key.
        let (forged, attackers) = try await Self.forge(from: try await a.copy())
        let before = try await b.copy()
        let new = try await here.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        #expect(try Vault.status(at: a.location).keyFingerprint == new)
        #expect(Set([first, new, attackers]).count == 3)
        tell("A has a new key and shows \(new)")

        // The attacker withholds A's files from B and shows their own instead.
        try await Self.sync(forged, to: b)
        #expect(try await b.unlockFailure(pin: "654321") == .unusable(VaultError.rekeyedElsewhere.sentence))
        let remembered = try Self.memory(b)
        let files = Set(try ConvergenceTests.files(in: b.vault))
        #expect(
            await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText) } == .secretOfReplacedKey
        )
        // Not even a user who would agree to everything.
        #expect(
            await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText, attackers) }
                == .secretOfReplacedKey
        )
        #expect(await VaultFixture.refusal { try await Self.join(b, Self.next) } == .wrongSecret)
        tell("B is shown the attacker's files: the old passphrase is refused, the new one opens none of them")

        // The attacker takes the announcement back, and offers the old key as if nothing had happened.
        try await Self.sync(before, to: b)
        #expect(
            await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText, first) } == .secretOfReplacedKey
        )
        #expect(try Self.memory(b) == remembered)
        tell("B is shown the old files again: the old passphrase is refused here, too")

        // A new device knows nothing: only the user can tell the keys apart.
        let c = try VaultFixture()
        try await Self.sync(forged, to: c)
        #expect(
            await VaultFixture.refusal { try await Self.join(c, Passphrase.strongText) }
                == .keyNotCompared(attackers, isReplacement: false)
        )
        #expect(
            await VaultFixture.refusal { try await Self.join(c, Passphrase.strongText, new) }
                == .keyNotCompared(attackers, isReplacement: false)
        )
        #expect(!(try FileSystem.names(c.root).contains("state")), "nothing was written for a key not compared")
        #expect(Set(try ConvergenceTests.files(in: c.vault)) == files)
        tell("a new device C shows \(attackers), which is not what A shows")

        // A's files arrive at last, beside those of the attacker.
        try await Self.sync(a, to: b)
        try await FileSystem.run("sh", "-c", "cp -rn \(forged.vault)/. \(b.vault)/")
        #expect(
            await VaultFixture.refusal { try await Self.join(b, Self.next) }
                == .keyNotCompared(new, isReplacement: true)
        )
        try await Self.join(b, Self.next, new)
        #expect(try Vault.status(at: b.location).keyFingerprint == new)
        let there = try await b.open(pin: "654321")
        #expect(try await VaultFixture.names(there) == ["ada"])
        #expect(!there.warnings.isEmpty, "the attacker's files are reported")
        try await there.add(.fresh(user: "bob"))
        let thief = try await forged.open(pin: "654321").perform { key, _ in key }
        for path in try b.recordFiles() {
            let file = RecordFile(bytes: try FileSystem.read(path))
            guard try !forged.recordFiles().contains(path.replacing(b.vault, with: forged.vault)) else { continue }
            #expect(file?.open(key: thief, identity: try b.open().files.identity) == nil, "\(path)")
        }
        tell("B shows \(new), as A does, and joins with the new passphrase; the attacker's files are set aside")
    }

    @Test("A device that lost its record of slots still asks the user to compare a new key")
    func withoutRecord() async throws {
        let a = try VaultFixture()
        _ = try await a.create()
        let here = try a.unlock()
        try await here.add(.fresh(user: "ada"))
        try await here.addPassphrase(.typed(), replacing: false)
        let b = try await a.copy()
        try await b.join(.passphrase(.typed()))
        let slots = try b.stateOfVault() + "/slots"
        // As in a state that an earlier version wrote: the same key needs no comparison.
        try await FileSystem.run("rm", slots)
        try await Self.join(b, Passphrase.strongText)
        #expect(try FileSystem.read(slots).count == 26 + PortableSlot.length + 32)
        let (forged, attackers) = try await Self.forge(from: try await a.copy())
        try await Self.sync(forged, to: b)
        for damage in [[], [1, 2, 3]] as [[UInt8]] {
            if damage.isEmpty { try await FileSystem.run("rm", slots) } else { try FileSystem.write(slots, damage) }
            #expect(
                await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText) }
                    == .keyNotCompared(attackers, isReplacement: true)
            )
        }
    }

    @Test("A device that learned of the new key while its user had forgotten the PIN refuses the old passphrase, too")
    func forgotten() async throws {
        let a = try VaultFixture()
        _ = try await a.create()
        let here = try a.unlock()
        try await here.addPassphrase(.typed(), replacing: false)
        let b = try await a.copy()
        try await b.join(.passphrase(.typed()))
        let before = try await b.copy()
        try await here.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        try await FileSystem.run("cp", "-r", a.vault + "/keys", b.vault)
        #expect(await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText) } == .rekeyedElsewhere)
        // The link is withheld from now on.
        try await Self.sync(before, to: b)
        #expect(await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText) } == .secretOfReplacedKey)
        #expect(try Vault.status(at: b.location).keyFingerprint == nil)
        // As long as no link arrives, the PIN opens it as before.
        #expect(try await VaultFixture.names(b.open(pin: "654321")).isEmpty)
    }

    @Test("A backup of a replaced key is restored with its own secret, and the newer key may return later")
    func restored() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let vault = try fixture.unlock()
        try await vault.addPassphrase(.typed(), replacing: false)
        let path = fixture.root + "/backup"
        try await vault.backUp(to: path)
        let first = try #require(try Vault.status(at: fixture.location).keyFingerprint)
        let new = try await vault.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        let newer = try await fixture.copy()
        try await FileSystem.run("rm", "-r", fixture.vault)
        let backup = try await VaultBackup.read(path)
        func restore(_ compared: KeyFingerprint?) async throws {
            _ = try await backup.restore(
                to: fixture.location,
                secret: .passphrase(.typed()),
                pin: .typed("654321"),
                comparedAs: compared,
                resettingRollbackState: true
            )
        }
        #expect(
            await VaultFixture.refusal { try await restore(nil) } == .keyNotCompared(first, isReplacement: true)
        )
        #expect(try FileSystem.names(fixture.root).contains("vault") == false, "nothing is written before")
        try await restore(first)
        #expect(try Vault.status(at: fixture.location).keyFingerprint == first)
        try await Self.sync(newer, to: fixture)
        #expect(
            await VaultFixture.refusal { try await Self.join(fixture, Self.next) }
                == .keyNotCompared(new, isReplacement: true)
        )
    }

    @Test("A passphrase that others may know is not used again")
    func usedBefore() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let vault = try fixture.unlock()
        try await vault.addPassphrase(.typed(), replacing: false)
        // The present key's own may be typed again.
        try await vault.addPassphrase(.typed(), replacing: true)
        let before = try FileSystem.names(fixture.vault + "/slots")
        #expect(
            await VaultFixture.refusal {
                try await vault.rekey(pin: .typed("123456"), passphrase: .typed(), recoveryCode: nil)
            } == .passphraseUsedBefore
        )
        #expect(try FileSystem.names(fixture.vault + "/slots") == before)
        #expect(!(try FileSystem.names(fixture.stateOfVault()).contains("next")))
        try await vault.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        #expect(
            await VaultFixture.refusal { try await vault.addPassphrase(.typed(), replacing: false) }
                == .passphraseUsedBefore
        )
        try await vault.addPassphrase(.typed("violin harvest copper meadow lantern"), replacing: false)
        #expect(try await vault.portableSlots() == (2, 0))
    }

    @Test("The file of known slots is refused with any flipped byte, and keeps the earliest slots of usual cost")
    func knownSlots() throws {
        let key = SymmetricKey(size: .bits256)
        let identity = VaultIdentity.random(isTest: false)
        func slot(_ scrypt: Scrypt = VaultFixture.scrypt) throws -> PortableSlot {
            try PortableSlot(wrapping: key, secret: .passphrase(.typed()), identity: identity, scrypt: scrypt)
        }
        let first = try slot()
        var known = KnownSlots(current: first.keyID)
        known.insert([first, first, try slot(#require(Scrypt(logN: 15, r: 8, p: 4)))])
        #expect(known.slots.count == 2, "cheaper than usual, and no slot twice")
        let costly = try #require(PortableSlot(bytes: Self.costlier(first)))
        known.insert([costly])
        #expect(!known.slots.contains(costly))
        #expect(KnownSlots(bytes: known.bytes) == known)
        #expect(KnownSlots(bytes: KnownSlots().bytes)?.current == nil)
        for index in known.bytes.indices {
            var bytes = known.bytes
            bytes[index] ^= 1
            #expect(KnownSlots(bytes: bytes) == nil, "byte \(index)")
        }
        for length in 0..<known.bytes.count { #expect(KnownSlots(bytes: Array(known.bytes.prefix(length))) == nil) }
        let many = try (0..<100).map { try #require(PortableSlot(bytes: Self.renamed(first, UInt8($0)))) }
        known.insert(many)
        #expect(known.slots.count == KnownSlots.maximumCount && known.slots.first == first)
        #expect(known.bytes.count <= KnownSlots.maximumLength && KnownSlots(bytes: known.bytes) == known)
        known.keepSlots(of: [])
        #expect(known.slots.isEmpty)
    }

    @Test("The fingerprint is that of docs/vault.md")
    func fingerprint() {
        let identity = VaultIdentity(id: Vectors.counting(from: 0x20, 16), isTest: false)
        let vectors: [(first: UInt8, fingerprint: String)] = [
            (0x00, "75572 13702 34096 76817 09854 73115"), (0x40, "71548 71520 87198 17556 45245 47368"),
        ]
        for (first, fingerprint) in vectors {
            let key = KeyID(of: SymmetricKey(data: Vectors.counting(from: first, 32)), identity: identity)
            #expect("\(KeyFingerprint(of: key, identity: identity))" == fingerprint)
        }
    }

    private static func costlier(_ slot: PortableSlot) -> [UInt8] { changed(slot) { $0[60] = 18 } }
    private static func renamed(_ slot: PortableSlot, _ number: UInt8) -> [UInt8] { changed(slot) { $0[28] = number } }

    /// Returns a slot with other bytes and a correct checksum.
    private static func changed(_ slot: PortableSlot, _ change: (inout [UInt8]) -> Void) -> [UInt8] {
        var body = Array(slot.bytes.dropLast(32))
        change(&body)
        return body + Sealing.checksum(body)
    }
}
