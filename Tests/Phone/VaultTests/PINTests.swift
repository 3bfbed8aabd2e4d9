// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridThreads
import Testing

@testable import HybridVault

@Suite("The PIN", .serialized)
struct PINTests {
    @Test("The right PIN opens the vault")
    func right() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        #expect(try await fixture.unlockFailure() == nil)
    }

    private static func wrong(_ left: Int, _ seconds: Int) -> UnlockFailure {
        .wrongPIN(attemptsLeft: left, waitSeconds: left == 0 ? seconds : nil)
    }

    @Test("Wrong PINs are counted across restarts, the fifth causes a wait, and the right one resets the count")
    func counting() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        for left in [4, 3, 2, 1, 0] {
            #expect(try await fixture.unlockFailure(pin: "000000") == Self.wrong(left, 30))
        }
        #expect(try await fixture.unlockFailure() == .lockedOut(seconds: 30))
        fixture.wait(29)
        #expect(try await fixture.unlockFailure() == .lockedOut(seconds: 1))
        fixture.wait(1)
        #expect(try await fixture.unlockFailure(pin: "000000") == Self.wrong(0, 60))
        #expect(try await fixture.unlockFailure() == .lockedOut(seconds: 60))
        fixture.wait(60)
        #expect(try await fixture.unlockFailure() == nil)
        #expect(try await fixture.unlockFailure(pin: "000000") == .wrongPIN(attemptsLeft: 4))
    }

    @Test("A clock set back neither opens the vault nor extends the wait")
    func clockSetBack() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        for _ in 0..<5 { _ = try await fixture.unlockFailure(pin: "000000") }
        fixture.setBack(1_000_000)
        #expect(try await fixture.unlockFailure() == .lockedOut(seconds: 30))
        fixture.wait(10)
        #expect(try await fixture.unlockFailure() == .lockedOut(seconds: 20))
        fixture.wait(20)
        #expect(try await fixture.unlockFailure() == nil)
    }

    @Test("The attempt is on disk before the PIN is tried")
    func countedFirst() throws {
        var attempts = AttemptCounter()
        attempts.begin(now: 7)
        let read = try #require(AttemptCounter(bytes: attempts.bytes))
        #expect(read.wrong == 1)
        #expect(read.last == 7)
    }

    @Test("An interrupted attempt stays counted")
    func cutShort() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        var attempts = AttemptCounter()
        for _ in 0..<5 { attempts.begin(now: 1_700_000_000) }
        try FileSystem.write(fixture.stateOfVault() + "/attempts", attempts.bytes)
        #expect(try await fixture.unlockFailure() == .lockedOut(seconds: 30))
    }

    @Test(
        "Waits double up to an hour",
        arguments: zip(
            [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1000],
            [0, 0, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
        )
    )
    func waits(wrong: Int, wait: Int) {
        var attempts = AttemptCounter()
        for _ in 0..<wrong { attempts.begin(now: 100) }
        #expect(attempts.wait == UInt64(wait))
        #expect(attempts.remaining(now: 100) == UInt64(wait))
        #expect(attempts.remaining(now: 100 + UInt64(wait)) == 0)
    }

    @Test("Any flipped byte of the slot, the device or the counter is damage, not a wrong PIN, and costs no attempt")
    func flippedState() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let vault = try fixture.open()
        let pin = try PIN.typed("123456")
        let state = try fixture.stateOfVault()
        for name in ["pin", "device", "attempts"] {
            let count = try FileSystem.read(state + "/" + name).count
            for index in 0..<count {
                let error = try await FileSystem.flipping(state + "/" + name, at: index, by: 0x10) {
                    () -> VaultError? in
                    do throws(UnlockFailure) {
                        _ = try await vault.unlock(with: pin)
                        return nil
                    } catch {
                        return error.underlying as? VaultError
                    }
                }
                guard case .damaged? = error else {
                    Issue.record("\(name), byte \(index): \(String(describing: error))")
                    continue
                }
            }
        }
        #expect(try await fixture.unlockFailure(pin: "000000") == .wrongPIN(attemptsLeft: 4))
    }

    @Test("Any flipped byte of the seen revisions is damage")
    func flippedSeen() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        let path = try fixture.stateOfVault() + "/seen"
        for index in 0..<(try FileSystem.read(path).count) {
            try await FileSystem.flipping(path, at: index, by: 1) {
                await #expect(throws: VaultError.damaged(path)) { try await unlocked.summaries() }
            }
        }
    }

    @Test("A changed field of the slot with a correct checksum does not yield the key")
    func slotIsAuthenticated() async throws {
        let device = try #require(Device(bytes: Vectors.device))
        let pin = try PIN.typed("123456")
        // Vault ID, test flag, device ID, p, salt, nonce, key, tag.
        for index in [11, 26, 27, 28, 35, 38, 39, 70, 71, 83, 114, 115, 130] {
            var body = Array(Vectors.slot.dropLast(32))
            body[index] ^= index == 38 ? 3 : 1
            let slot = PINSlot(bytes: body + Sealing.checksum(body))
            let read = try #require(slot, "byte \(index)")
            let key = try await DedicatedThread.run { () throws in try read.unwrapKey(pin: pin, device: device) }
            #expect(key == nil, "byte \(index)")
        }
    }

    @Test("Costs outside the limits are refused before any work is done", arguments: [false, true])
    func costs(isTest: Bool) {
        let lowest: UInt8 = isTest ? 10 : 15
        let refused: [(UInt8, UInt8, UInt8)] = [
            (lowest - 1, 8, 1), (0, 8, 1), (21, 8, 1), (63, 8, 1), (17, 7, 1), (17, 9, 1), (17, 8, 0), (17, 8, 5),
            (255, 255, 255),
        ]
        func slot(_ logN: UInt8, _ r: UInt8, _ p: UInt8) -> PINSlot? {
            var body = Array(Vectors.slot.dropLast(32))
            body[27] = isTest ? 1 : 0
            body.replaceSubrange(36..<39, with: [logN, r, p])
            return PINSlot(bytes: body + Sealing.checksum(body))
        }
        for (logN, r, p) in refused { #expect(slot(logN, r, p) == nil, "\(logN) \(r) \(p)") }
        for logN in lowest...20 { #expect(slot(logN, 8, 4) != nil, "\(logN)") }
    }

    @Test("Other lengths of the slot are refused, whatever their checksum")
    func slotLengths() {
        let body = Array(Vectors.slot.dropLast(32))
        for length in 0..<body.count {
            let shorter = Array(body.prefix(length))
            #expect(PINSlot(bytes: shorter + Sealing.checksum(shorter)) == nil)
        }
        #expect(PINSlot(bytes: body + [0] + Sealing.checksum(body + [0])) == nil)
    }

    @Test("The slot of another vault under this vault's name is refused")
    func foreignSlot() async throws {
        let (one, two) = (try VaultFixture(), try VaultFixture())
        _ = try await one.create()
        _ = try await two.create()
        try FileSystem.write(one.stateOfVault() + "/pin", try FileSystem.read(two.stateOfVault() + "/pin"))
        guard case .damaged? = one.refusal() else {
            Issue.record("\(String(describing: one.refusal()))")
            return
        }
    }

    @Test("Without the device's secret the right PIN is not enough")
    func deviceSecret() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let path = try fixture.stateOfVault() + "/device"
        let device = try #require(Device(bytes: try FileSystem.read(path)))
        var body = Array(device.bytes.dropLast(32))
        body[20] ^= 1
        try FileSystem.write(path, body + Sealing.checksum(body))
        #expect(try await fixture.unlockFailure() == .wrongPIN(attemptsLeft: 4))
    }

    @Test("A changed PIN opens the vault, the old one does not")
    func changed() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        try await unlocked.changePIN(to: .typed("abcdef"))
        #expect(try await fixture.unlockFailure() == .wrongPIN(attemptsLeft: 4))
        #expect(try await fixture.open().unlockVault(with: .typed("abcdef")).summaries().count == 1)
    }

    @Test("A short PIN is refused for new and existing vaults")
    func short() async throws {
        let fixture = try VaultFixture()
        await #expect(throws: VaultError.pinTooShort) { try await fixture.create(pin: "123") }
        #expect(fixture.refusal() == .doesNotExist(path: fixture.vault))
        _ = try await fixture.create()
        let unlocked = try fixture.unlock()
        await #expect(throws: VaultError.pinTooShort) { try await unlocked.changePIN(to: .typed("äöü")) }
        #expect(try await fixture.unlockFailure() == nil)
    }

    @Test("The default cost is N = 2^17, r = 8, p = 1")
    func defaultCost() async throws {
        let fixture = try VaultFixture()
        let location = VaultLocation(directory: fixture.vault, stateDirectory: fixture.state)
        let vault = try await Vault.create(at: location, pin: .typed("1234"), isTest: false)
        let slot = try #require(PINSlot(bytes: try FileSystem.read(fixture.state + "/" + vault.id + "/pin")))
        #expect((slot.header.scrypt.logN, slot.header.scrypt.r, slot.header.scrypt.p) == (17, 8, 1))
        #expect(try await fixture.unlockFailure(pin: "1234") == nil)
    }

    @Test("Two simultaneous attempts are both counted")
    func concurrent() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create()
        let vault = try fixture.open()
        let failures = await withTaskGroup(of: UnlockFailure?.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    do {
                        _ = try await vault.unlock(with: .typed("000000"))
                        return nil
                    } catch { return error as? UnlockFailure }
                }
            }
            var failures: [UnlockFailure?] = []
            for await failure in group { failures.append(failure) }
            return failures
        }
        for left in [2, 3, 4] { #expect(failures.contains(.wrongPIN(attemptsLeft: left))) }
    }
}
