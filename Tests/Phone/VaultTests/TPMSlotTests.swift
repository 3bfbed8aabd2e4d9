// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridTPM
import TestSupport
import Testing

@testable import HybridVault

@Suite("The slot that a TPM protects", .serialized)
struct TPMSlotTests {
    @Test("The right PIN opens it, and a wrong one is counted here and by the TPM")
    func unlocking() async throws {
        try await withTPM { (fixture, tpm) async throws -> Void in
            #expect(try Vault.status(at: fixture.location).pinProtection == .tpm)
            #expect(try await fixture.unlockFailure() == nil)
            for left in [4, 3] {
                #expect(try await fixture.unlockFailure(pin: "000000") == .wrongPIN(attemptsLeft: left))
            }
            #expect(try fixture.tpm.status().lockout.counter == 2)
            #expect(try await fixture.unlockFailure() == nil)
            #expect(try await tpm.leftovers() == "")
        }
    }

    @Test("A vault without passphrase and recovery code refuses the TPM, and a rekey without them, too")
    func onlySlot() async throws {
        try await withTPM(passphrase: false) { fixture, _ in
            let unlocked = try await fixture.open(pin: "123456")
            await #expect(throws: VaultError.tpmWouldBeOnlySlot) { try await unlocked.enableTPM(pin: .typed("123456")) }
            #expect(try Vault.status(at: fixture.location).pinProtection == .deviceSecret)
            try await unlocked.addPassphrase(.typed(), replacing: false)
            try await unlocked.enableTPM(pin: .typed("123456"))
            await #expect(throws: VaultError.tpmWouldBeOnlySlot) {
                try await unlocked.rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil)
            }
        }
    }

    @Test("A TPM that cannot be used costs no attempt, and its sentence names the passphrase")
    func unusable() async throws {
        try await withTPM { fixture, tpm in
            try await tpm.stop()
            let failure = try #require(try await fixture.unlockFailure())
            #expect(failure.attemptsLeft == nil)
            #expect(failure.sentence.contains("change-pin --forgotten"))
            #expect(try Vault.status(at: fixture.location).wrongPINs == 0)
            _ = try await Vault.join(at: fixture.location, secret: .passphrase(.typed()), pin: .typed("654321"))
            #expect(try Vault.status(at: fixture.location).pinProtection == .deviceSecret)
            #expect(try await fixture.unlockFailure(pin: "654321") == nil)
        }
    }

    @Test("A slot beside another device's secret is damaged, even with the right PIN and TPM")
    func deviceSecret() async throws {
        try await withTPM { fixture, _ in
            let path = try fixture.stateOfVault() + "/device"
            let device = try #require(Device(bytes: FileSystem.read(path)))
            var changed = device.bytes
            changed[20] ^= 1
            try FileSystem.write(path, Array(changed.dropLast(32)).checksummed)
            let failure = try #require(try await fixture.unlockFailure())
            #expect(failure.sentence.contains("damaged"))
        }
    }

    @Test("Both slots after an interrupted change: the one without the TPM is used")
    func interrupted() async throws {
        try await withTPM { fixture, tpm in
            let state = try fixture.stateOfVault()
            let slot = try FileSystem.read(state + "/tpm")
            try await fixture.open(pin: "123456").disableTPM(pin: .typed("123456"))
            try FileSystem.write(state + "/tpm", slot)
            #expect(try Vault.status(at: fixture.location).pinProtection == .interrupted)
            try await tpm.stop()
            #expect(try await fixture.unlockFailure() == nil)
            try await fixture.open(pin: "123456").disableTPM(pin: .typed("123456"))
            #expect(try Vault.status(at: fixture.location).pinProtection == .deviceSecret)
        }
    }

    @Test("Each damaged byte and each length but the right one is refused before the TPM is asked")
    func damage() async throws {
        try await withTPM { fixture, _ in
            let bytes = try FileSystem.read(fixture.stateOfVault() + "/tpm")
            #expect(TPMSlot(bytes: bytes)?.bytes == bytes)
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= 0x80
                #expect(TPMSlot(bytes: changed) == nil)
            }
            for length in 0..<bytes.count { #expect(TPMSlot(bytes: Array(bytes.prefix(length))) == nil) }
            // With a right checksum, fields of another form are still refused: above all noDA (bit 10).
            for index in 0..<11 + 17 { try expectRefusal(at: index, of: bytes, unless: 11..<27) }
            for index in 143..<159 { try expectRefusal(at: index, of: bytes, unless: 0..<0) }
        }
    }

    private func expectRefusal(at index: Int, of bytes: [UInt8], unless free: Range<Int>) throws {
        guard !free.contains(index) else { return }
        for bit in 0..<8 {
            var changed = Array(bytes.dropLast(32))
            changed[index] ^= 1 << UInt8(bit)
            // The test flag may be 0 or 1.
            guard index != 27 || bit > 0 else { continue }
            #expect(TPMSlot(bytes: changed.checksummed) == nil, "bit \(bit) of byte \(index)")
        }
    }

    private func withTPM(
        passphrase: Bool = true,
        _ body: (VaultFixture, SoftwareTPM) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            let tpm = try await SoftwareTPM(in: folder.path)
            let device = try #require(TPMAddress(configuration: tpm.configuration))
            let fixture = try VaultFixture(tpm: device)
            _ = try await fixture.create()
            if passphrase {
                let unlocked = try await fixture.open(pin: "123456")
                try await unlocked.addPassphrase(.typed(), replacing: false)
                try await unlocked.enableTPM(pin: .typed("123456"))
            }
            try await body(fixture, tpm)
        }
    }
}
