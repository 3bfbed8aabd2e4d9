// SPDX-License-Identifier: Apache-2.0

import Crypto
import ExchangeTestSupport
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridCredentialExchange
import TestSupport
import Testing

@testable import HybridVault

/// Changes of passkeys through signals of websites (WebAuthn Level 3 §5.1.10).
@Suite("Signals of websites")
struct SignalTests {
    private static let site = "example.com"

    /// A vault with passkeys of the users, in their order, and the IDs of these.
    private func vault(_ users: [(user: String, site: String)]) async throws -> (VaultFixture, [Passkey]) {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        var passkeys: [Passkey] = []
        for (user, site) in users {
            let passkey = try Passkey.fresh(rp: site, user: user)
            try await fixture.unlock().add(passkey)
            passkeys.append(passkey)
        }
        return (fixture, passkeys)
    }

    /// Applies signals and returns the number of changed passkeys.
    private func apply(_ signals: [PasskeySignal], to fixture: VaultFixture) async throws -> Int {
        let vault = try fixture.unlock()
        return try await vault.make(try await vault.changes(for: signals))
    }

    private func unknown(_ passkey: Passkey, site: RelyingPartyID? = nil) -> PasskeySignal {
        .unknownCredential(site ?? passkey.relyingParty, passkey.id)
    }

    private func accepted(_ passkeys: [Passkey], of owner: Passkey) -> PasskeySignal {
        .allAcceptedCredentials(owner.relyingParty, owner.user.id, Set(passkeys.map(\.id)))
    }

    private func hidden(_ fixture: VaultFixture) async throws -> Set<CredentialID> {
        Set(try await fixture.unlock().summaries().filter(\.isHidden).compactMap(\.credential))
    }

    @Test("an unknown credential is hidden at its own site only, and keeps its key and names")
    func unknownCredential() async throws {
        let (fixture, passkeys) = try await vault([("ada", Self.site), ("bob", Self.site), ("ada", "example.org")])
        let elsewhere = try #require(RelyingPartyID("example.org"))
        #expect(try await apply([unknown(passkeys[0], site: elsewhere)], to: fixture) == 0)
        let before = try Exchange.bodies(fixture.unlock(), fixture.key)
        #expect(try await apply([unknown(passkeys[0])], to: fixture) == 1)
        #expect(try await hidden(fixture) == [passkeys[0].id])
        var after = try Exchange.bodies(fixture.unlock(), fixture.key)
        #expect(after[passkeys[0].id]?["hidden"] == true)
        after[passkeys[0].id]?["hidden"] = nil
        #expect(after == before, "nothing else changes")
        let snapshot = try fixture.snapshot()
        #expect(try await apply([unknown(passkeys[0])], to: fixture) == 0)
        #expect(try fixture.snapshot() == snapshot, "a repeated signal writes nothing")
        let offered = try await fixture.unlock().passkeys(for: passkeys[0].relyingParty)
        #expect(offered.map(\.isHidden) == [false, true], "the newest first; allow lists find hidden ones")
        #expect(offered.map(\.isDiscoverable) == [true, true])
    }

    @Test("the accepted credentials of an account are shown again, the others hidden, other accounts unchanged")
    func allAccepted() async throws {
        let (fixture, passkeys) = try await vault([
            ("ada", Self.site), ("ada", Self.site), ("bob", Self.site), ("ada", "example.org"),
        ])
        #expect(try await apply([accepted([passkeys[0]], of: passkeys[0])], to: fixture) == 1)
        #expect(try await hidden(fixture) == [passkeys[1].id])
        #expect(try await apply([accepted([passkeys[1]], of: passkeys[0])], to: fixture) == 2)
        #expect(try await hidden(fixture) == [passkeys[0].id])
        #expect(try await apply([accepted([], of: passkeys[0])], to: fixture) == 1)
        #expect(try await hidden(fixture) == [passkeys[0].id, passkeys[1].id])
        #expect(try await apply([accepted(passkeys, of: passkeys[0])], to: fixture) == 2)
        #expect(try await hidden(fixture) == [])
        let members = try Exchange.bodies(fixture.unlock(), fixture.key)
        #expect(members.values.allSatisfy { $0["hidden"] == nil }, "as if it had never been hidden")
    }

    @Test("current details rename all passkeys of the account, hidden or not, and only in the vault")
    func details() async throws {
        let (fixture, passkeys) = try await vault([
            ("ada", Self.site), ("ada", Self.site), ("bob", Self.site), ("ada", "example.org"),
        ])
        let site = passkeys[0].relyingParty
        let user = UserEntity(id: passkeys[0].user.id, name: "lovelace", displayName: "Ada Lovelace")
        let signals = [unknown(passkeys[0]), .currentUserDetails(site, user)]
        let changes = try await fixture.unlock().changes(for: signals)
        #expect(changes.map(\.hides) == [nil, true] && changes.allSatisfy { $0.user == user })
        #expect(try await apply(signals, to: fixture) == 2)
        let names = try await fixture.unlock().summaries().map(\.user?.name)
        #expect(names == ["ada", "bob", "lovelace", "lovelace"])
        #expect(try await apply(signals, to: fixture) == 0)
    }

    @Test("of several signals in one file, the last word counts")
    func several() async throws {
        let (fixture, passkeys) = try await vault([("ada", Self.site)])
        #expect(try await apply([unknown(passkeys[0]), accepted(passkeys, of: passkeys[0])], to: fixture) == 0)
        #expect(try await apply([accepted(passkeys, of: passkeys[0]), unknown(passkeys[0])], to: fixture) == 1)
        #expect(try await hidden(fixture) == [passkeys[0].id])
    }

    @Test("a passkey that is deleted while the user is prompted stays deleted")
    func deletedMeanwhile() async throws {
        let (fixture, passkeys) = try await vault([("ada", Self.site), ("bob", Self.site)])
        let vault = try fixture.unlock()
        let changes = try await vault.changes(for: passkeys.map { unknown($0) })
        try await vault.delete(changes[0].passkey.record)
        #expect(try await vault.make(changes) == 1)
        #expect(try await fixture.unlock().summaries().map(\.credential) == [passkeys[0].id])
        await vault.lock()
        await #expect(throws: VaultError.locked) { try await vault.make(changes) }
    }

    @Test("an older program's change keeps the hidden state; another value counts as shown")
    func otherVersions() async throws {
        let (fixture, passkeys) = try await vault([("ada", Self.site)])
        _ = try await apply([unknown(passkeys[0])], to: fixture)
        let record = try #require(try await fixture.unlock().summaries().first?.record)
        // A rename copies members that it does not know.
        try await fixture.unlock().rename(record, name: "renamed", displayName: "")
        #expect(try await hidden(fixture) == [passkeys[0].id])
        for value in [false, 1, "yes"] as [CBORValue] {
            var members = PasskeyBody(try .fresh(), order: 1, created: 1).members
            members["hidden"] = value
            let body = PasskeyBody(members: members)
            #expect(!body.isHidden && body.passkey?.isHidden == false)
        }
        #expect(PasskeyBody(try .fresh(), order: 1, created: 1).members["hidden"] == nil, "the format is unchanged")
    }

    @Test("hidden on one device and renamed on another: the higher revision counts, and the signal can be repeated")
    func merged() async throws {
        let (fixture, passkeys) = try await vault([("ada", Self.site)])
        let other = try await fixture.copy()
        try other.joinWithoutPIN()
        _ = try await apply([unknown(passkeys[0])], to: fixture)
        let record = try #require(try await other.unlock().summaries().first?.record)
        for name in ["one", "two"] { try await other.unlock().rename(record, name: name, displayName: "") }
        try await FileSystem.run("cp", "-r", other.vault + "/.", fixture.vault)
        let merged = try #require(try await fixture.unlock().summaries().first)
        #expect(merged.user?.name == "two" && !merged.isHidden)
        #expect(try await apply([unknown(passkeys[0])], to: fixture) == 1)
        #expect(try await fixture.unlock().summaries().map(\.user?.name) == ["two"])
        #expect(try await hidden(fixture) == [passkeys[0].id])
    }

    @Test("an export and an import keep the hidden state, in a member that other programs ignore")
    func exported() async throws {
        let (fixture, passkeys) = try await vault([("ada", Self.site), ("bob", Self.site)])
        _ = try await apply([unknown(passkeys[0])], to: fixture)
        let path = fixture.root + "/export.json"
        _ = try await fixture.unlock().exportPasskeys(to: path)
        let other = try VaultFixture()
        try other.createWithoutPIN()
        #expect(try await other.unlock().add(try await ExchangeFile.read(path)).added == 2)
        #expect(try await hidden(other) == [passkeys[0].id])
        #expect(try await other.unlock().summaries().map(\.isDiscoverable) == [true, true])
    }
}
