// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridVault

@Suite("Joining with a key that another device hands over")
struct JoinNearbyTests {
    private func prepared() async throws -> (VaultFixture, VaultKeyMaterial) {
        let fixture = try VaultFixture()
        _ = try await fixture.create(isTest: false)
        let unlocked = try fixture.unlock()
        for user in ["ada", "bob", "gone"] { try await unlocked.add(.fresh(user: user)) }
        let gone = try #require(try await unlocked.summaries().first { $0.user?.name == "gone" })
        try await unlocked.delete(gone.record)
        return (fixture, try await unlocked.keyMaterial())
    }

    /// Copies a part of the vault, as a file sync does.
    private func sync(_ fixture: VaultFixture, _ other: VaultFixture, _ path: String = ".") async throws {
        let copy = "cd \(fixture.vault) && cp -a --parents \(path) \(other.vault)/"
        try await FileSystem.run("sh", "-c", "mkdir -p -m 700 \(other.vault) && \(copy)")
    }

    @Test("The vault opens with the new PIN once a file sync has brought everything, and not before")
    func arrival() async throws {
        let (fixture, material) = try await prepared()
        let vault = try fixture.open()
        #expect(material.count == 2 && !material.isTest && material.vault == vault.id)
        #expect(material.fingerprint == vault.knownFingerprint)
        let bytes = try #require(material.bytes)
        let received = try #require(VaultKeyMaterial(bytes))
        let other = try VaultFixture(key: fixture.key)
        #expect(try !Vault.checkJoin(at: other.location))
        try await Vault.join(with: received, at: other.location, pin: .typed("654321"))
        #expect(try await Vault.arrival(of: received, at: other.location) == .records(arrived: 0, of: 3))
        // A second join changes nothing, and no other vault takes the place.
        #expect(await VaultFixture.refusal { _ = try other.open() } == .missing(path: other.vault))
        let records = try FileSystem.names(fixture.vault + "/records")
        try await sync(fixture, other, "records/" + records[0])
        #expect(try await Vault.arrival(of: received, at: other.location) == .records(arrived: 0, of: 3))
        try await sync(fixture, other, "vault.json")
        #expect(try await Vault.arrival(of: received, at: other.location) == .records(arrived: 1, of: 3))
        #expect(try await other.unlockFailure(pin: "654321") == .unusable(VaultError.rolledBack.sentence))
        try await sync(fixture, other)
        #expect(try await Vault.arrival(of: received, at: other.location) == .complete)
        let there = try await other.open(pin: "654321")
        #expect(try await VaultFixture.names(there) == ["ada", "bob"])
        #expect(there.warnings.isEmpty)
        // It is a device of its own, which also writes.
        try await there.add(.fresh(user: "new"))
        try await FileSystem.run("sh", "-c", "cp -rn \(other.vault)/. \(fixture.vault)/")
        #expect(try await VaultFixture.names(fixture.open(pin: "123456")) == ["ada", "bob", "new"])
        let refusal = await VaultFixture.refusal { _ = try Vault.checkJoin(at: other.location) }
        #expect(refusal == .hasPINHere(path: other.vault))
    }

    @Test("Files that are there already are accepted if they are of that vault; those of another are not")
    func present() async throws {
        let (fixture, material) = try await prepared()
        let other = try VaultFixture(key: fixture.key)
        try await sync(fixture, other)
        #expect(try Vault.checkJoin(at: other.location))
        try await Vault.join(with: material, at: other.location, pin: .typed("654321"))
        #expect(try await VaultFixture.names(other.open(pin: "654321")) == ["ada", "bob"])
        let foreign = try VaultFixture()
        _ = try await foreign.create(isTest: false)
        try await FileSystem.run("rm", "-r", foreign.state)
        let refusal = await VaultFixture.refusal {
            try await Vault.join(with: material, at: foreign.location, pin: .typed("654321"))
        }
        #expect(refusal == .anotherVault(path: foreign.vault))
        let short = await VaultFixture.refusal {
            try await Vault.join(with: material, at: foreign.location, pin: .typed("123"))
        }
        #expect(short == .pinTooShort)
    }

    @Test("A server that shows the new device an older state is detected")
    func rollback() async throws {
        let (fixture, _) = try await prepared()
        let old = try await fixture.copy()
        let unlocked = try fixture.unlock()
        let ada = try #require(try await unlocked.summaries().first { $0.user?.name == "ada" })
        try await unlocked.delete(ada.record)
        let material = try await unlocked.keyMaterial()
        let other = try VaultFixture(key: fixture.key)
        try await Vault.join(with: material, at: other.location, pin: .typed("654321"))
        try await sync(old, other)
        #expect(try await Vault.arrival(of: material, at: other.location) == .records(arrived: 2, of: 3))
        #expect(try await other.unlockFailure(pin: "654321") == .unusable(VaultError.rolledBack.sentence))
    }

    @Test("Every changed or missing byte of the key material is refused, or is another key")
    func damaged() async throws {
        let (_, material) = try await prepared()
        let secret = try #require(material.bytes)
        let bytes = withExtendedLifetime(secret) { Array(secret.memory) }
        func read(_ bytes: [UInt8]) -> VaultKeyMaterial? {
            bytes.withUnsafeBytes { VaultKeyMaterial(SecretBytes(copying: $0)) }
        }
        #expect(read(bytes) != nil)
        for length in 0..<bytes.count { #expect(read(Array(bytes.prefix(length))) == nil) }
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(read(changed) == nil, "byte \(index)")
        }
        #expect("\(material)" == "VaultKeyMaterial(hidden)")
    }

    @Test("A vault whose key was replaced hands nothing over")
    func replaced() async throws {
        let (fixture, _) = try await prepared()
        let stale = try fixture.unlock()
        try await fixture.unlock().rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil)
        #expect(await VaultFixture.refusal { _ = try await stale.keyMaterial() } == .locked)
    }
}

@Suite("Keys of requests")
struct RequestKeysTests {
    private func secret(_ number: UInt8) throws -> RequestSecret {
        try #require([UInt8](repeating: number, count: 64).withUnsafeBytes { RequestSecret(bytes: $0) })
    }

    private func id(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    @Test("The last eight requests of thirty days are kept, also across a rekey, and only for this device")
    func kept() async throws {
        let fixture = try VaultFixture()
        _ = try await fixture.create(isTest: false)
        let unlocked = try fixture.unlock()
        #expect(try await unlocked.secret(ofRequest: id(1)) == nil)
        for number in 1...9 { try await unlocked.keep(secret(UInt8(number)), forRequest: id(UInt8(number))) }
        #expect(try await unlocked.secret(ofRequest: id(1)) == nil)
        for number in 2...9 {
            let kept = try await unlocked.secret(ofRequest: id(UInt8(number)))
            #expect(kept?.withUnsafeBytes { Array($0) } == [UInt8](repeating: UInt8(number), count: 64))
        }
        try await unlocked.rekey(pin: .typed("123456"), passphrase: nil, recoveryCode: nil)
        let again = try await fixture.open(pin: "123456")
        #expect(try await again.secret(ofRequest: id(9)) != nil)
        fixture.wait(31 * 24 * 3600)
        #expect(try await again.secret(ofRequest: id(9)) == nil)
        try await again.keep(secret(7), forRequest: id(10))
        #expect(try await again.secret(ofRequest: id(9)) == nil)
        #expect(try await again.secret(ofRequest: id(10)) != nil)
    }

    @Test("A damaged list is reported when it is read, and replaced by the next request")
    func damaged() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.keep(secret(1), forRequest: id(1))
        let path = try fixture.stateOfVault() + "/requests"
        try await FileSystem.flipping(path, at: 30, by: 1) {
            guard case .damaged? = await VaultFixture.refusal({ _ = try await unlocked.secret(ofRequest: id(1)) })
            else {
                Issue.record("not refused")
                return
            }
        }
        try FileSystem.write(path, [1, 2, 3])
        try await unlocked.keep(secret(2), forRequest: id(2))
        #expect(try await unlocked.secret(ofRequest: id(2)) != nil)
    }
}
