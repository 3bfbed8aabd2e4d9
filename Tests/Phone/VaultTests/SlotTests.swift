// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridVault

@Suite("Passphrases and recovery codes", .serialized)
struct SlotTests {
    @Test("A recovery code is read in any spelling")
    func codes() throws {
        var random = SeededGenerator()
        for _ in 0..<200 {
            let bytes = random.bytes(16)
            let code = RecoveryCode(key: SymmetricKey(data: bytes))
            let text = code.text
            #expect(text.utf8.count == 35 && text.split(separator: "-").count == 6, "\(random)")
            let spellings = [
                text, text.lowercased(), text.replacing("-", with: " "), text.replacing("-", with: ""),
                text.replacing("0", with: "O").replacing("1", with: "l"), " \(text) ",
            ]
            for spelling in spellings {
                let read = try RecoveryCode.read(spelling)
                #expect(read.key.withUnsafeBytes { Array($0) } == bytes, "\(random)")
            }
        }
        #expect("\(RecoveryCode.random())" == "RecoveryCode(hidden)")
    }

    @Test("Every wrong character and every swapped pair is reported as mistyped")
    func mistyped() throws {
        let text = Array(RecoveryCode(key: SymmetricKey(data: Array(0xF0...0xFF) as [UInt8])).text.utf8)
        let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
        for index in text.indices where text[index] != UInt8(ascii: "-") {
            for letter in alphabet where letter != text[index] {
                var wrong = text
                wrong[index] = letter
                #expect(throws: RecoveryCode.ParseError.mistyped) {
                    try RecoveryCode.read(String(decoding: wrong, as: UTF8.self))
                }
            }
            if index + 1 < text.count, text[index + 1] != text[index], text[index + 1] != UInt8(ascii: "-") {
                var swapped = text
                swapped.swapAt(index, index + 1)
                #expect(throws: RecoveryCode.ParseError.mistyped) {
                    try RecoveryCode.read(String(decoding: swapped, as: UTF8.self))
                }
            }
        }
        for other in ["", "-", String(decoding: text.dropLast(), as: UTF8.self), Passphrase.strongText, "U", "é"] {
            #expect(throws: RecoveryCode.ParseError.notACode) { try RecoveryCode.read(other) }
        }
        #expect(throws: RecoveryCode.ParseError.notACode) {
            try RecoveryCode.read(String(decoding: text, as: UTF8.self) + "0")
        }
    }

    @Test(
        "Guessable passphrases are weak",
        arguments: [
            "", "password", "Password1", "correct horse battery staple", "iloveyouverymuch", "aaaaaaaaaaaaaaaaaaaaaaaa",
            "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "12345678901234567890", "01234567891011121314",
            "monkey monkey monkey monkey monkey monkey monkey monkey", "2001 2002 2003 2004 2005 2006",
            "Tr0ub4dor&3", "!!!!!!!!!!!!!!!!!!!!!!!!!!!", "i love you so much that i want you to be my love for ever",
            "hunter2hunter2hunter2hunter2", "correcthorsebatterystaple", "ÄÄÄÄÄÄÄÄÄÄÄÄ",
        ]
    )
    func weak(text: String) {
        #expect(Array(text.utf8).withUnsafeBytes { PassphraseStrength.bits(of: $0) } < Passphrase.minimumBits)
    }

    @Test(
        "Random passphrases are strong",
        arguments: [
            Passphrase.strongText, "glider-museum-ochre-tactful-banjo", "kX9#vQ2m!Lp4zR7w", "xqzvkfhwnbtrjmpd",
            "83920175640918273650918", "ruchlos Kamel Ofen Traktor Nebel Igel", "7f3a9c1e5b8d2f4a6c0e9b7d",
            "Öl ziehn Ähre bürde Ufer kühn Größe",
        ]
    )
    func strong(text: String) throws {
        #expect(try Passphrase.typed(text).strength >= Passphrase.minimumBits)
    }

    @Test("A copied directory opens with the passphrase and then has its own PIN")
    func passphrase() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        try await unlocked.addPassphrase(.typed(), replacing: false)

        let other = try await fixture.copy()
        guard case .noPINSlotHere? = other.refusal() else {
            Issue.record("a copied vault opened without a PIN")
            return
        }
        #expect(
            await VaultFixture.refusal {
                try await other.join(.passphrase(.typed("Correct horse battery staple orbit")))
            }
                == .wrongSecret
        )
        #expect(await VaultFixture.refusal { try await other.join(.recoveryCode(.random())) } == .noSuchSlot)
        #expect(await VaultFixture.refusal { try await other.join(.passphrase(.typed()), pin: "1") } == .pinTooShort)
        #expect(!(try FileSystem.names(other.root).contains("state")))
        try await other.join(.passphrase(.typed()))
        let there = try await other.open(pin: "654321")
        #expect(try await VaultFixture.names(there) == ["ada"])
        try await there.add(.fresh(user: "bob"))
        let devices = try other.recordFiles().compactMap { $0.split(separator: "-").last }
        #expect(Set(devices).count == 2, "each device has its own ID")
    }

    @Test("A recovery code opens a copied directory")
    func recoveryCode() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let code = RecoveryCode.random()
        let unlocked = try fixture.unlock()
        try await unlocked.addRecoveryCode(code, replacing: false)
        #expect(try await unlocked.portableSlots() == (0, 1))
        let other = try await fixture.copy()
        let typed = try RecoveryCode.read(code.text.lowercased())
        try await other.join(.recoveryCode(typed))
        #expect(try await VaultFixture.names(other.open(pin: "654321")).isEmpty)
    }

    @Test("A weak passphrase is refused")
    func weakPassphrase() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let weak = try Passphrase.typed("monkey")
        #expect(
            await VaultFixture.refusal { try await unlocked.addPassphrase(weak, replacing: false) }
                == .passphraseTooWeak(bits: weak.strength)
        )
        #expect(try FileSystem.names(fixture.vault + "/slots").isEmpty)
    }

    @Test("A replaced passphrase no longer opens the vault, but still opens an old copy; the recovery code stays")
    func replaced() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let code = RecoveryCode.random()
        try await unlocked.addPassphrase(.typed(), replacing: false)
        try await unlocked.addRecoveryCode(code, replacing: false)
        let old = try await fixture.copy()
        let next = "glider museum ochre tactful banjo"
        try await unlocked.addPassphrase(.typed(next), replacing: true)
        #expect(try await unlocked.portableSlots() == (1, 1))
        let new = try await fixture.copy()
        #expect(await VaultFixture.refusal { try await new.join(.passphrase(.typed())) } == .wrongSecret)
        try await new.join(.passphrase(.typed(next)))
        try await old.join(.passphrase(.typed()))
    }

    @Test("Replacing deletes the replaced slots only, even if a forged slot has the same ID, and works at the limit")
    func replacedByWholeBytes() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.addRecoveryCode(.random(), replacing: false)
        let slots = fixture.vault + "/slots/"
        let real = try FileSystem.read(slots + (try #require(try FileSystem.names(slots).first)))
        let identity = try fixture.open().files.identity
        let forged = try PortableSlot(
            wrapping: SymmetricKey(size: .bits256),
            secret: .passphrase(.typed()),
            identity: identity,
            scrypt: Scrypt.lowest
        )
        for number in 0..<31 {
            var body = Array(forged.bytes.dropLast(32))
            body.replaceSubrange(28..<44, with: number == 0 ? Array(real[28..<44]) : [UInt8].random(16))
            try FileSystem.write(slots + Hex.encode([UInt8].random(16)), body + Sealing.checksum(body))
        }
        try await unlocked.addPassphrase(.typed(), replacing: true)
        #expect(try await unlocked.portableSlots() == (1, 1))
        #expect(try FileSystem.names(slots).count == 2)
    }

    @Test("The passphrase replaces a forgotten PIN; device, wait and seen revisions are kept or repaired")
    func forgotten() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        try await unlocked.addPassphrase(.typed(), replacing: false)
        let device = try FileSystem.read(fixture.stateOfVault() + "/device")
        for _ in 0..<5 { _ = try await fixture.unlockFailure(pin: "000000") }
        #expect(try await fixture.unlockFailure() == .lockedOut(seconds: 30))
        try await fixture.join(.passphrase(.typed()))
        #expect(try FileSystem.read(fixture.stateOfVault() + "/device") == device)
        #expect(try await VaultFixture.names(fixture.open(pin: "654321")) == ["ada"])
        #expect(try await fixture.unlockFailure() == .wrongPIN(attemptsLeft: 4))
        // The seen revisions are kept: a rollback is still detected under the new PIN.
        try await FileSystem.run("rm", "-r", fixture.vault + "/records")
        try await fixture.join(.passphrase(.typed()))
        #expect(
            try await fixture.unlockFailure(pin: "654321") == .unusable(VaultError.rolledBack.sentence)
        )
    }

    @Test("Costs outside the limits, other lengths and flipped bytes are refused before any slow work")
    func bounds() async throws {
        let key = SymmetricKey(size: .bits256)
        let identity = VaultIdentity.random(isTest: false)
        let slot = try PortableSlot(
            wrapping: key,
            secret: .passphrase(.typed()),
            identity: identity,
            scrypt: Scrypt.lowest
        )
        #expect(slot.bytes.count == PortableSlot.length)
        #expect(PortableSlot(bytes: slot.bytes) == slot)
        let body = Array(slot.bytes.dropLast(32))
        for (logN, r, p) in [(14, 8, 1), (21, 8, 1), (255, 8, 1), (17, 7, 1), (17, 8, 0), (17, 8, 5), (0, 0, 0)]
            as [(UInt8, UInt8, UInt8)]
        {
            var changed = body
            changed.replaceSubrange(60..<63, with: [logN, r, p])
            #expect(PortableSlot(bytes: changed + Sealing.checksum(changed)) == nil, "\(logN) \(r) \(p)")
        }
        for length in 0..<body.count {
            let shorter = Array(body.prefix(length))
            #expect(PortableSlot(bytes: shorter + Sealing.checksum(shorter)) == nil)
        }
        #expect(PortableSlot(bytes: body + [0] + Sealing.checksum(body + [0])) == nil)
        for index in slot.bytes.indices {
            var changed = slot.bytes
            changed[index] ^= 1
            #expect(PortableSlot(bytes: changed) == nil, "byte \(index)")
        }
        // With a corrected checksum, tag and MAC still detect a change: kind, vault, test, slot, key, salt, wrapped,
        // MAC.
        for index in [10, 11, 27, 28, 44, 63, 95, 110, 150, 155, 186] {
            var changed = body
            changed[index] ^= index == 10 ? 1 : 1
            guard let read = PortableSlot(bytes: changed + Sealing.checksum(changed)) else { continue }
            #expect(!read.isAuthentic(under: key), "byte \(index)")
        }
    }

    @Test("Forged slots are not counted and lock out no user; huge files are ignored")
    func forged() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.addPassphrase(.typed(), replacing: false)
        let slots = fixture.vault + "/slots/"
        let identity = try VaultIdentity.read(FileSystem.read(fixture.vault + "/vault.json"))
        let forged = try PortableSlot(
            wrapping: SymmetricKey(size: .bits256),
            secret: .passphrase(.typed()),
            identity: identity,
            scrypt: Scrypt.lowest
        )
        // The server knows the passphrase of its slot; using it yields another key, under which no record opens.
        try FileSystem.write(slots + forged.fileName, forged.bytes)
        try FileSystem.write(slots + "README", [1, 2, 3])
        try FileSystem.write(slots + "00112233445566778899aabbccddeeff", [UInt8](repeating: 0, count: 300_000))
        try await FileSystem.run("mkfifo", slots + "11112233445566778899aabbccddeeff")
        #expect(try await unlocked.portableSlots() == (1, 0))
        let status = try Vault.status(at: fixture.location)
        #expect(status.warnings.count == 3)
        let strange = [forged.fileName, "00112233445566778899aabbccddeeff", "11112233445566778899aabbccddeeff"]
        let name = try #require(try FileSystem.names(slots).first { $0.count == 32 && !strange.contains($0) })
        try await FileSystem.run("mv", slots + name, slots + name + ".sync-conflict-20260101-101010-ABCDEFG")
        #expect(try await unlocked.portableSlots() == (1, 0), "a conflict copy is a slot")
        for number in 0..<40 {
            var body = Array(forged.bytes.dropLast(32))
            body[28] = UInt8(number)
            try FileSystem.write(
                slots + Hex.encode([UInt8(number)] + [UInt8].random(15)),
                body + Sealing.checksum(body)
            )
        }
        #expect(try await unlocked.portableSlots() == (1, 0))
        #expect(try await fixture.unlock().summaries().isEmpty, "the PIN still opens it")
        let all = try PortableSlots(in: fixture.open().files.directory, identity: identity).all
        #expect(all.count > PortableSlots.maximumCount)
        // The server does not know the passphrase, so no slot of its own opens with it.
        let others = all.filter { $0 != forged }
        #expect(try others.unwrapKey(with: .passphrase(.typed())).key == fixture.key, "and so does the passphrase")
        try await unlocked.addRecoveryCode(.random(), replacing: false)
        try await unlocked.backUp(to: fixture.root + "/backup")
        for number in 0..<200 { try FileSystem.write(slots + "junk-\(number)", [1]) }
        #expect(try !Vault.isTest(at: fixture.location), "slots are not read")
        #expect(try await fixture.unlock().summaries().isEmpty)
    }

    @Test("Forged slots cost a bounded time, and costly ones do not displace those that this program writes")
    func costs() async throws {
        let slot = try PortableSlot(
            wrapping: SymmetricKey(size: .bits256),
            secret: .passphrase(.typed()),
            identity: .random(isTest: false),
            scrypt: Scrypt.lowest
        )
        func slots(_ count: Int, _ logN: UInt8, _ p: UInt8) throws -> [PortableSlot] {
            try (0..<count).map { number in
                var body = Array(slot.bytes.dropLast(32))
                body.replaceSubrange(28..<44, with: [UInt8].random(16))
                body.replaceSubrange(60..<63, with: [logN, 8, p])
                return try #require(PortableSlot(bytes: body + Sealing.checksum(body)), "slot \(number)")
            }
        }
        let usual = try slots(3, 17, 1)
        let costly = try slots(100, 20, 4) + usual
        #expect(costly.affordable.prefix(3).allSatisfy(usual.contains))
        #expect(costly.affordable.count == 4)
        for many in [costly, try slots(100, 17, 1), try slots(100, 15, 1), try slots(100, 15, 1) + costly] {
            #expect(many.affordable.count <= PortableSlots.maximumTried)
            #expect(many.affordable.reduce(0) { $0 + $1.scrypt.cost } <= PortableSlots.maximumCost)
        }
        #expect(try slots(1, 20, 4).affordable.count == 1, "a single slot of any cost is tried")
        #expect(try slots(33, 15, 1).affordable.count == 33)

        let cheap = try slots(PortableSlots.maximumTried + 2, 15, 1)
        #expect(throws: VaultError.slotsNotTried(2)) { try cheap.unwrapKey(with: .passphrase(.typed("another"))) }
    }

    @Test("The status is complete without any secret")
    func status() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        let before = try Vault.status(at: fixture.location)
        #expect(!before.opensElsewhere && before.hasPIN && before.records == 1 && before.wrongPINs == 0)
        for _ in 0..<5 { _ = try await fixture.unlockFailure(pin: "000000") }
        try await unlocked.addPassphrase(.typed(), replacing: false)
        let after = try Vault.status(at: fixture.location)
        #expect(after.opensElsewhere && after.passphrases == 1 && after.recoveryCodes == 0)
        #expect(after.wrongPINs == 5 && after.waitSeconds == 30)
        let other = try await fixture.copy()
        let there = try Vault.status(at: other.location)
        #expect(!there.hasPIN && there.opensElsewhere && there.id == after.id)
    }
}
