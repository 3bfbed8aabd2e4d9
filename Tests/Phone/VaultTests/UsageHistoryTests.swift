// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import Testing

@testable import HybridVault

@Suite("Usage history")
struct UsesTests {
    private let site: RelyingPartyID

    init() throws { site = try #require(RelyingPartyID("example.com")) }

    @Test("Uses are returned complete, the latest first, with the record of their passkey")
    func roundTrip() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        #expect(try await unlocked.uses().uses.isEmpty)
        let passkey = try Passkey.fresh()
        try await unlocked.add(passkey)
        let record = try #require(try await unlocked.summaries().first?.record)
        try await unlocked.recordUse(for: site, .create, .done, credential: passkey.id)
        fixture.wait(5)
        try await unlocked.recordUse(for: site, .signIn, .declined)
        let long = try #require(RelyingPartyID([String](repeating: "abcdefghijk", count: 20).joined(separator: ".")))
        fixture.wait(5)
        try await unlocked.recordUse(for: long, .signIn, .noPasskey)
        let uses = try await fixture.unlock().uses()
        #expect(uses.warnings.isEmpty)
        #expect(uses.uses.map(\.outcome) == [.noPasskey, .declined, .done])
        #expect(uses.uses.map(\.operation) == [.signIn, .signIn, .create])
        #expect(uses.uses.map(\.relyingParty) == [long, site, site])
        #expect(uses.uses.map(\.time) == [1_700_000_010, 1_700_000_005, 1_700_000_000])
        #expect(uses.uses.map(\.record) == [nil, nil, record])
    }

    @Test("Uses of local services and signatures for SSH are kept")
    func localServices() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let ssh = try #require(RelyingPartyID("ssh:work", accepting: [.ssh]))
        let pam = try #require(RelyingPartyID("pam://desk", accepting: [.pam]))
        for (party, operation) in [(ssh, .sign), (pam, .signIn)] as [(RelyingPartyID, PasskeyUse.Operation)] {
            let use = PasskeyUse(time: 7, relyingParty: party, operation: operation, outcome: .done, record: nil)
            try vault.files.append(use, key: fixture.key)
        }
        let uses = try vault.files.uses(key: fixture.key)
        #expect(uses.warnings.isEmpty)
        #expect(Set(uses.uses.map(\.relyingParty)) == [ssh, pam])
        #expect(Set(uses.uses.map(\.operation)) == [.sign, .signIn])
    }

    @Test("After 256 uses a new segment begins; none is lost")
    func segments() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        for number in 0..<260 {
            let use = PasskeyUse(
                time: UInt64(number),
                relyingParty: site,
                operation: .signIn,
                outcome: .done,
                record: nil
            )
            try vault.files.append(use, key: fixture.key)
        }
        let device = try #require(try FileSystem.names(fixture.vault + "/uses").first)
        #expect(try FileSystem.names(fixture.vault + "/uses/" + device) == ["1", "2"])
        #expect(try vault.files.uses(key: fixture.key).uses.map(\.time) == (0..<260).reversed().map { UInt64($0) })
    }

    @Test("Histories of two devices merge by plain copy; conflict copies count once")
    func union() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.recordUse(for: site, .create, .done)
        let other = try await fixture.copy()
        let there = try other.joinWithoutPIN()
        try await there.recordUse(for: site, .signIn, .done)
        try await FileSystem.run("sh", "-c", "cp -rn \(other.vault)/. \(fixture.vault)/ || true")
        let device = try #require(try FileSystem.names(fixture.vault + "/uses").first)
        let path = "\(fixture.vault)/uses/\(device)/1"
        try await FileSystem.run("cp", path, path + ".sync-conflict-20260101-101010-ABCDEFG")
        #expect(try await unlocked.uses().uses.count == 2)
        #expect(try await unlocked.uses().warnings.isEmpty)
    }

    @Test("Entries that are not authentic cause warnings and keep nothing closed")
    func hostile() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for _ in 0..<3 { try await unlocked.recordUse(for: site, .signIn, .done) }
        let device = try #require(try FileSystem.names(fixture.vault + "/uses").first)
        let path = "\(fixture.vault)/uses/\(device)/1"
        let bytes = try FileSystem.read(path)
        for index in bytes.indices {
            try await FileSystem.flipping(path, at: index, by: 2) {
                let found = try await unlocked.uses()
                #expect(found.uses.count == (index < 22 ? 0 : 2), "byte \(index)")
                #expect(!found.warnings.isEmpty)
            }
        }
        // Swapped entries are not authentic.
        let (first, second) = (bytes[22..<562], bytes[562..<1102])
        try FileSystem.write(path, Array(bytes[..<22] + second + first + bytes[1102...]))
        #expect(try await unlocked.uses().uses.count == 1)
        try FileSystem.write(path, bytes.dropLast(100))
        #expect(try await unlocked.uses().uses.count == 2)
        try await unlocked.recordUse(for: site, .create, .done)
        #expect(try await unlocked.uses().uses.count == 3)
        try FileSystem.write(path, [UInt8](repeating: 0, count: 400_000))
        try await FileSystem.run("mkdir", fixture.vault + "/uses/README")
        #expect(try await unlocked.uses().uses.isEmpty)
        #expect(try await unlocked.uses().warnings.count == 2)
        try await unlocked.recordUse(for: site, .create, .done)
        #expect(try await unlocked.uses().uses.count == 1)
        #expect(try FileSystem.read(path).count == 400_000, "an unreadable file is not overwritten")
        #expect(try fixture.unlock().warnings.isEmpty)
    }

    @Test("A locked vault neither returns nor records uses")
    func locked() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        await unlocked.lock()
        await #expect(throws: VaultError.locked) { try await unlocked.uses() }
        await #expect(throws: VaultError.locked) { try await unlocked.recordUse(for: site, .create, .done) }
    }
}
