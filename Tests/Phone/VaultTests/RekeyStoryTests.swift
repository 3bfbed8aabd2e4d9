// SPDX-License-Identifier: Apache-2.0

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
    private static func forge(from copy: VaultFixture) async throws -> (VaultFixture, VaultKeyFingerprint) {
        try await copy.join(.passphrase(.typed()))
        let stolen = try await copy.open(pin: "654321")
        let fingerprint = try await stolen.rekey(pin: .typed("654321"), passphrase: nil, recoveryCode: nil)
        let key = try await stolen.perform { key, _ in key }
        let (directory, identity) = try VaultDirectory.open(copy.location)
        let secret = PortableSecret.passphrase(try .typed())
        let slot = try PortableSlot(wrapping: key, secret: secret, identity: identity, scrypt: Scrypt.lowest)
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

    private static func join(
        _ device: VaultFixture,
        _ text: String,
        _ compared: VaultKeyFingerprint? = nil,
        resetting: Bool = false
    ) async throws {
        _ = try await Vault.join(
            at: device.location,
            secret: .passphrase(try .typed(text)),
            pin: .typed("654321"),
            comparedAs: compared,
            resettingRollbackState: resetting
        )
    }

    /// Adds the files of one directory to another, as a sync tool does.
    private static func add(_ source: VaultFixture, to device: VaultFixture) async throws {
        try await FileSystem.run("sh", "-c", "cp -rn \(source.vault)/. \(device.vault)/ || true")
    }

    /// Returns two devices with the same vault, the second of which joined with the first passphrase.
    private static func devices() async throws -> (a: VaultFixture, here: UnlockedVault, b: VaultFixture) {
        let a = try VaultFixture()
        _ = try await a.create()
        let here = try a.unlock()
        try await here.add(.fresh(user: "ada"))
        try await here.addPassphrase(.typed(), replacing: false)
        let b = try await a.copy()
        try await b.join(.passphrase(.typed()))
        return (a, here, b)
    }

    private static let replaced = UnlockFailure.unusable(VaultError.rekeyedElsewhere.sentence)

    @Test("No device seals anything under the attacker's key; the fingerprints distinguish the keys")
    func story() async throws {
        func report(_ line: String) { print("rekey story: \(line)") }
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
        report("A and B show \(first)")

        // The passphrase leaks; the attacker copies the directory. A gives the vault a new key.
        let (forged, attackers) = try await Self.forge(from: try await a.copy())
        let before = try await b.copy()
        let new = try await here.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        #expect(try Vault.status(at: a.location).keyFingerprint == new)
        #expect(Set([first, new, attackers]).count == 3)
        report("A has a new key and shows \(new)")

        // The attacker withholds A's files from B and shows their own instead.
        try await Self.sync(forged, to: b)
        #expect(try await b.unlockFailure(pin: "654321") == Self.replaced)
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
        report("B is shown the attacker's files: the old passphrase is refused, the new one opens none of them")

        // The attacker takes the announcement back, and offers the old key as if nothing had happened.
        try await Self.sync(before, to: b)
        #expect(
            await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText, first) } == .secretOfReplacedKey
        )
        #expect(try await b.unlockFailure(pin: "654321") == Self.replaced)
        #expect(try Self.memory(b) == remembered)
        report("B is shown the old files again: neither the old passphrase nor the PIN opens them")

        // A new device knows nothing: only the user can distinguish the keys.
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
        report("a new device C shows \(attackers), which is not what A shows")

        // A's files arrive at last, beside those of the attacker.
        try await Self.sync(a, to: b)
        try await Self.add(forged, to: b)
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
        report("B shows \(new), as A does, and joins with the new passphrase; the attacker's files are set aside")
    }

    @Test("A device that lost its record of slots still asks the user to compare a new key")
    func withoutRecord() async throws {
        let (a, _, b) = try await Self.devices()
        let slots = try b.stateOfVault() + "/slots"
        // As in a state that an earlier version wrote: the same key needs no comparison.
        try await FileSystem.run("rm", slots)
        try await Self.join(b, Passphrase.strongText)
        #expect(try FileSystem.read(slots).count == 27 + PortableSlot.length + 32)
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

    @Test("A device that knows of a new key does not use the old one again, whether the link is withdrawn or returns")
    func withdrawn() async throws {
        let (a, here, b) = try await Self.devices()
        let before = try await b.copy()
        let new = try await here.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        // B learns of it while its user has forgotten the PIN.
        try await FileSystem.run("cp", "-r", a.vault + "/keys", b.vault)
        #expect(await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText) } == .rekeyedElsewhere)
        for withdrawn in [true, false, true] {
            if withdrawn { try await Self.sync(before, to: b) } else { try await Self.sync(a, to: b) }
            #expect(try await b.unlockFailure(pin: "654321") == Self.replaced)
            let refused = await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText) }
            #expect(refused == (withdrawn ? .secretOfReplacedKey : .wrongSecret))
            let status = try Vault.status(at: b.location)
            #expect(status.isRekeyedElsewhere && status.keyFingerprint == nil)
        }
        try await Self.sync(a, to: b)
        try await Self.join(b, Self.next, new)
        #expect(try await VaultFixture.names(b.open(pin: "654321")) == ["ada"])
        let status = try Vault.status(at: b.location)
        #expect(!status.isRekeyedElsewhere && status.keyFingerprint == new)
        // B joined, so it knows that the old key was replaced, too.
        try await Self.sync(before, to: b)
        #expect(await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText) } == .secretOfReplacedKey)
    }

    @Test("Two devices rekey at the same time: both work on, and the passkeys of a lost one can be reached")
    func simultaneous() async throws {
        let (a, here, b) = try await Self.devices()
        let there = try await b.open(pin: "654321")
        try await there.add(.fresh(user: "bob"))
        try await here.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        let theirs = "violin harvest copper meadow lantern"
        let second = try await there.rekey(pin: .typed("654321"), passphrase: .typed(theirs), recoveryCode: nil)
        try await Self.add(a, to: b)
        try await Self.add(b, to: a)
        let opened = try await a.open(pin: "123456")
        #expect(try await VaultFixture.names(opened) == ["ada"])
        #expect(opened.warnings.contains { $0.path.hasPrefix("keys/") && $0.reason.contains("hybrid-auth import") })
        #expect(try await VaultFixture.names(b.open(pin: "654321")) == ["ada", "bob"])

        // Neither another rekey nor another passphrase deletes B's only secret, even after B has rekeyed again.
        let again = Self.next + " again"
        let third = try await opened.rekey(pin: .typed("123456"), passphrase: .typed(again), recoveryCode: nil)
        let last = "lagoon pewter thimble oxygen quarry"
        try await opened.addPassphrase(.typed(last), replacing: true)
        #expect(try await opened.portableSlots() == (1, 0))
        #expect(try FileSystem.names(a.vault + "/slots").count == 2)

        // B is lost. A follows its key to export its passkeys, and returns to its own.
        #expect(
            await VaultFixture.refusal { try await Self.join(a, theirs) }
                == .keyNotCompared(second, isReplacement: true)
        )
        try await Self.join(a, theirs, second, resetting: true)
        #expect(try await VaultFixture.names(a.open(pin: "654321")) == ["ada", "bob"])
        #expect(
            await VaultFixture.refusal { try await Self.join(a, last) } == .keyNotCompared(third, isReplacement: true)
        )
        try await Self.join(a, last, third, resetting: true)
        #expect(try await VaultFixture.names(a.open(pin: "654321")) == ["ada"])
    }

    @Test("A key that may have replaced that of a device that rekeyed at the same time is recognized, too")
    func successors() async throws {
        let (a, here, b) = try await Self.devices()
        let there = try await b.open(pin: "654321")
        try await here.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        for text in ["violin harvest copper meadow lantern", "lagoon pewter thimble oxygen quarry"] {
            try await there.rekey(pin: .typed("654321"), passphrase: .typed(text), recoveryCode: nil)
        }
        try await Self.add(b, to: a)
        let opened = try await a.open(pin: "123456")
        let again = Self.next + " again"
        try await opened.rekey(pin: .typed("123456"), passphrase: .typed(again), recoveryCode: nil)
        #expect(try FileSystem.names(a.vault + "/slots").count == 2)
    }

    @Test("A device that was offline during two rekeys joins with the newest secret, and its own work is kept")
    func offline() async throws {
        let (a, here, b) = try await Self.devices()
        try await b.open(pin: "654321").add(.fresh(user: "offline"))
        try await here.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        try await here.add(.fresh(user: "new"))
        let last = "violin harvest copper meadow lantern"
        let fingerprint = try await here.rekey(pin: .typed("123456"), passphrase: .typed(last), recoveryCode: nil)
        try await Self.add(a, to: b)
        #expect(try await b.unlockFailure(pin: "654321") == Self.replaced)
        #expect(await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText) } == .secretOfReplacedKey)
        #expect(
            await VaultFixture.refusal { try await Self.join(b, last) }
                == .keyNotCompared(fingerprint, isReplacement: true)
        )
        try await Self.join(b, last, fingerprint)
        // Others may know the key under which B wrote, so its user decides.
        #expect(try await b.unlockFailure(pin: "654321") == .unusable(VaultError.rolledBack.sentence))
        _ = try await VaultFixture.acceptance(b, pin: "654321").accept()
        #expect(try await VaultFixture.names(b.open(pin: "654321")) == ["ada", "new", "offline"])
    }

    @Test("After the loss of all devices, a backup and its secret suffice; the backup shows the digits to compare")
    func lost() async throws {
        let (a, here, _) = try await Self.devices()
        let path = a.root + "/backup"
        let fingerprint = try await here.backUp(to: path)
        #expect(try Vault.status(at: a.location).keyFingerprint == fingerprint)
        let backup = try await VaultBackup.read(path)
        let c = try VaultFixture()
        func restore(_ compared: VaultKeyFingerprint?) async throws {
            let secret = PortableSecret.passphrase(try .typed())
            _ = try await backup.restore(to: c.location, secret: secret, pin: .typed("654321"), comparedAs: compared)
        }
        #expect(
            await VaultFixture.refusal { try await restore(nil) } == .keyNotCompared(fingerprint, isReplacement: false)
        )
        try await restore(fingerprint)
        #expect(try await VaultFixture.names(c.open(pin: "654321")) == ["ada"])
        #expect(try Vault.status(at: c.location).keyFingerprint == fingerprint)
    }

    @Test("Slots that a thief of the key adds do not displace the secrets that were typed or created on a device")
    func crowded() async throws {
        let (a, here, b) = try await Self.devices()
        let (forged, attackers) = try await Self.forge(from: try await a.copy())
        try await FileSystem.run("sh", "-c", "rm \(a.stateOfVault())/slots \(b.stateOfVault())/slots")
        let identity = try a.open().files.identity
        let name = try #require(try FileSystem.names(b.vault + "/slots").first)
        let slot = try #require(PortableSlot(bytes: try FileSystem.read("\(b.vault)/slots/\(name)")))
        for device in [a, b] {
            for number in UInt8(0)..<80 {
                let planted = slot.changed(markedUnder: a.key, identity) { bytes in
                    bytes[10] = device === a ? 2 : 2 + number % 2
                    bytes.replaceSubrange(28..<44, with: [UInt8](repeating: 0, count: 15) + [number])
                }
                try FileSystem.write(
                    "\(device.vault)/slots/\(String(repeating: "0", count: 30))\(10 + number)",
                    planted
                )
            }
        }
        // B joins again, and A creates another passphrase; on both, unlocking has recorded the thief's slots before.
        _ = try await b.open(pin: "654321")
        _ = try await a.open(pin: "123456")
        try await Self.join(b, Passphrase.strongText)
        try await here.addPassphrase(.typed(Self.next), replacing: true)
        for device in [a, b] {
            let known = try #require(try device.open().files.state.knownSlots())
            #expect(known.slots.count == KnownSlots.maximumCount)
        }
        try await Self.sync(forged, to: b)
        #expect(
            await VaultFixture.refusal { try await Self.join(b, Passphrase.strongText, attackers) }
                == .secretOfReplacedKey
        )
        #expect(
            await VaultFixture.refusal {
                try await here.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
            } == .passphraseUsedBefore
        )
    }

    @Test("A damaged record of slots stops nothing, and unlocking replaces it")
    func damaged() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let slots = try fixture.stateOfVault() + "/slots"
        for damage in [[], [1, 2, 3], [UInt8](repeating: 7, count: 100_000)] as [[UInt8]] {
            try FileSystem.write(slots, damage)
            #expect(try Vault.status(at: fixture.location).keyFingerprint == nil)
            _ = try await fixture.open(pin: "123456")
            #expect(try Vault.status(at: fixture.location).keyFingerprint != nil)
        }
        let vault = try await fixture.open(pin: "123456")
        try FileSystem.write(slots, [1])
        try await vault.addPassphrase(.typed(), replacing: false)
        try FileSystem.write(slots, [1])
        try await vault.rekey(pin: .typed("123456"), passphrase: .typed(Self.next), recoveryCode: nil)
        #expect(try Vault.status(at: fixture.location).keyFingerprint != nil)
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
        func restore(_ compared: VaultKeyFingerprint?) async throws {
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
        #expect(try await VaultFixture.names(fixture.open(pin: "654321")).isEmpty)
        try await Self.sync(newer, to: fixture)
        #expect(
            await VaultFixture.refusal { try await Self.join(fixture, Self.next) }
                == .keyNotCompared(new, isReplacement: true)
        )
        try await Self.join(fixture, Self.next, new)
        #expect(try await VaultFixture.names(fixture.open(pin: "654321")).isEmpty)
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
}
