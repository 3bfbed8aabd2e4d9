// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import Testing

@testable import HybridVault

@Suite("Passkeys in a vault")
struct PasskeyTests {
    @Test("A passkey survives closing the vault")
    func roundTrip() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let passkey = try Passkey.fresh(user: "ada", isBackupEligible: false)
        try await fixture.unlock().add(passkey)
        let found = try await fixture.unlock().passkeys(for: passkey.relyingParty)
        #expect(found.count == 1)
        let again = try #require(found.first)
        #expect(again.id == passkey.id)
        #expect(again.relyingParty == passkey.relyingParty)
        #expect(again.user == passkey.user)
        #expect(again.privateKey.rawRepresentation == passkey.privateKey.rawRepresentation)
        #expect(again.isBackupEligible == false)
    }

    @Test("Only the relying party's passkeys are returned, the newest first, whatever the clock says")
    func order() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        for user in ["one", "two", "three"] {
            try await unlocked.add(.fresh(user: user))
            fixture.setBack(1000)
            try await unlocked.add(.fresh(rp: "example.org", user: user))
        }
        let party = try #require(RelyingPartyID("example.com"))
        #expect(try await unlocked.passkeys(for: party).map(\.user.name) == ["three", "two", "one"])
        #expect(try await unlocked.summaries().count == 6)
        #expect(try await unlocked.passkeys(for: try #require(RelyingPartyID("com"))).isEmpty)
    }

    @Test("A locked vault can be neither read nor written")
    func locked() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let passkey = try Passkey.fresh()
        try await unlocked.add(passkey)
        await unlocked.lock()
        await #expect(throws: StoreFailure.locked) { try await unlocked.passkeys(for: passkey.relyingParty) }
        await #expect(throws: StoreFailure.locked) { try await unlocked.add(.fresh()) }
        await #expect(throws: VaultError.locked) { try await unlocked.summaries() }
        await #expect(throws: VaultError.locked) { try await unlocked.delete(.random()) }
        await #expect(throws: VaultError.locked) { try await unlocked.changePIN(to: .typed("abcd")) }
        #expect(try fixture.recordFiles().count == 1)
    }

    @Test("A rename writes the next revision and keeps the previous one")
    func rename() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "ada"))
        let record = try #require(try await unlocked.summaries().first?.record)
        let before = try fixture.snapshot()
        try await unlocked.rename(record, name: "lovelace", displayName: "Ada Lovelace")
        let after = try fixture.snapshot()
        #expect(after.count == before.count + 1)
        for (path, bytes) in before { #expect(after[path] == bytes) }
        let entry = try #require(try await unlocked.summaries().first)
        #expect(entry.user?.name == "lovelace")
        #expect(entry.user?.displayName == "Ada Lovelace")
        #expect(entry.user?.id.bytes == Array("ada".utf8))
        #expect(entry.isUsable)
    }

    @Test("Options of a passkey are kept, and have defaults for files without them")
    func optionalMembers() async throws {
        let fixture = try VaultFixture()
        _ = try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let plain = try Passkey.fresh()
        let full = Passkey(
            id: try #require(CredentialID(bytes: [UInt8].random(16))),
            relyingParty: plain.relyingParty,
            user: plain.user,
            privateKey: plain.privateKey,
            isBackupEligible: true,
            isDiscoverable: false,
            prfSecret: PRFSecret(bytes: 0..<32)
        )
        for passkey in [plain, full] { try await unlocked.add(passkey) }
        let read = try await unlocked.passkeys(for: plain.relyingParty)
        #expect(read.map(\.id) == [full.id, plain.id])
        #expect(read.map(\.isDiscoverable) == [false, true])
        #expect(read[0].prfSecret?.withUnsafeBytes { Array($0) } == Array(0..<32))
        #expect(read[1].prfSecret == nil)

        let members = PasskeyBody(plain, order: 1, created: 1).members
        #expect(members["rk"] == nil && members["prf"] == nil, "the format is unchanged")
        for (name, value) in [("prf", CBORValue.bytes([1])), ("prf", 7), ("rk", 0), ("rk", true)] {
            var changed = members
            changed[.text(name)] = value
            let odd = try #require(PasskeyBody(members: changed).passkey)
            #expect(odd.isDiscoverable && odd.prfSecret == nil, "\(name) of another shape takes nothing away")
        }
    }

    @Test("The kind of data that a passkey signs is kept, and a kind of a later version makes it unusable")
    func kinds() async throws {
        let fixture = try VaultFixture()
        _ = try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let plain = try Passkey.fresh(rp: "ssh:work")
        let restricted = Passkey(
            id: try #require(CredentialID(bytes: [UInt8].random(16))),
            relyingParty: plain.relyingParty,
            user: plain.user,
            privateKey: plain.privateKey,
            isBackupEligible: true,
            signedDataKind: .ssh
        )
        for passkey in [plain, restricted] { try await unlocked.add(passkey) }
        #expect(try await unlocked.passkeys(for: plain.relyingParty).map(\.signedDataKind) == [.ssh, nil])
        #expect(try await unlocked.summaries().map(\.signedDataKind) == [.ssh, nil])
        #expect(try await unlocked.summaries().map(\.isSSHKey) == [true, true])
        #expect(PasskeyBody(plain, order: 1, created: 1).members["signs"] == nil, "the format is unchanged")

        let members = PasskeyBody(restricted, order: 1, created: 1).members
        #expect(members["signs"] == "ssh")
        for value in ["gpg", "", true, .bytes(Array("ssh".utf8))] as [CBORValue] {
            var changed = members
            changed["signs"] = value
            #expect(PasskeyBody(members: changed).passkey == nil, "a passkey never signs more than it may")
            let padded = RecordBody(kind: RecordBody.passkey, members: changed).padded
            #expect(padded.withUnsafeBytes { PasskeyListing.passkey(padded: $0) } == nil)
            #expect(padded.withUnsafeBytes { RecordListing(padded: $0) }?.passkey?.isUsable == false)
        }
    }

    @Test("Only the named passkeys are deleted")
    func deletion() async throws {
        let fixture = try VaultFixture()
        _ = try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let passkeys = try ["one", "two", "three"].map { try Passkey.fresh(user: $0) }
        for passkey in passkeys { try await unlocked.add(passkey) }
        let new = try Passkey.fresh(user: "one")
        try await unlocked.add(new)
        #expect(try await unlocked.passkeys(for: new.relyingParty).count == 4)
        let absent = try #require(CredentialID(bytes: [1, 2, 3]))
        try await unlocked.delete([passkeys[0].id, absent, passkeys[1].id], of: new.relyingParty)
        let left = try await unlocked.passkeys(for: new.relyingParty)
        #expect(left.map(\.id) == [new.id, passkeys[2].id])
        #expect(try await fixture.unlock().passkeys(for: new.relyingParty).map(\.id) == left.map(\.id))
    }

    @Test("Passkeys of two sites with one ID are independent")
    func sameID() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let key = P256.Signing.PrivateKey()
        let id = try #require(CredentialID(bytes: [1, 2, 3, 4]))
        for site in ["one.example", "two.example"] {
            var members = PasskeyBody(try .fresh(rp: site), order: 1, created: 1).members
            members["id"] = .bytes(id.bytes)
            members["key"] = .bytes(Array(key.rawRepresentation))
            try await unlocked.put(members)
        }
        let entries = try await unlocked.summaries()
        for entry in entries {
            let party = try #require(entry.relyingParty)
            try await unlocked.recordUse(for: party, .signIn, .done, credential: id)
            #expect(try await unlocked.uses().uses.first { $0.relyingParty == party }?.record == entry.record)
        }
        let first = try #require(entries.first?.relyingParty)
        let last = try #require(entries.last?.relyingParty)
        try await unlocked.delete([id], of: last)
        #expect(try await unlocked.summaries().map(\.relyingParty) == [first])
        try await unlocked.delete([id], of: last)
        #expect(try await unlocked.summaries().map(\.relyingParty) == [first])
    }

    @Test("Members of a later version survive a rewrite, even inside the account")
    func unknownMembers() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        let key = fixture.key
        var members = PasskeyBody(try .fresh(), order: 1, created: 1).members
        members["zz-later"] = ["deep": [1, 2, 3]]
        var user = try #require(members["user"]?.map)
        user["icon"] = .bytes([9, 9])
        members["user"] = .map(user)
        let record = try await Self.plant(
            .init(kind: RecordBody.passkey, members: members),
            in: fixture,
            vault: vault,
            key: key
        )
        try await unlocked.rename(record, name: "new", displayName: "New")
        let records = try vault.files.records(key: key)
        let body = try #require(records.reveal(record)?.members)
        #expect(records.all[record]?.newest.counter == 2)
        #expect(body["zz-later"] == ["deep": [1, 2, 3]])
        #expect(body["user"]?.map?["icon"] == .bytes([9, 9]))
        #expect(body["user"]?.map?["name"] == "new")
        #expect(body["key"] == members["key"])
    }

    @Test("Unusable passkeys cause warnings, are listed and kept")
    func unusable() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let key = fixture.key
        var members = PasskeyBody(try .fresh(), order: 1, created: 1).members
        members["alg"] = -8
        let record = try await Self.plant(
            .init(kind: RecordBody.passkey, members: members),
            in: fixture,
            vault: vault,
            key: key
        )
        let before = try fixture.snapshot()
        let unlocked = try fixture.unlock()
        #expect(unlocked.warnings.map(\.reason) == ["a passkey that this version can't use"])
        #expect(try await unlocked.passkeys(for: try #require(RelyingPartyID("example.com"))).isEmpty)
        #expect(try await unlocked.summaries().map(\.isUsable) == [false])
        try await unlocked.add(.fresh())
        #expect(try fixture.snapshot().filter { before[$0.key] != nil } == before)
        try await unlocked.delete(record)
        #expect(try await unlocked.summaries().count == 1)
    }

    @Test("Record kinds of a later version cause warnings and are kept")
    func laterKind() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let key = fixture.key
        _ = try await Self.plant(.init(kind: 77, members: ["what": "ever"]), in: fixture, vault: vault, key: key)
        let unlocked = try fixture.unlock()
        #expect(unlocked.warnings.map(\.reason) == ["made by a later version of this program"])
        #expect(try await unlocked.summaries().isEmpty)
    }

    @Test("A deleted passkey is gone permanently and can be neither renamed nor deleted again")
    func delete() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        let record = try #require(try await unlocked.summaries().first?.record)
        try await unlocked.delete(record)
        #expect(try await unlocked.summaries().isEmpty)
        #expect(try await fixture.unlock().summaries().isEmpty)
        await #expect(throws: VaultError.noSuchRecord) { try await unlocked.delete(record) }
        await #expect(throws: VaultError.noSuchRecord) { try await unlocked.rename(record, name: "", displayName: "") }
        await #expect(throws: VaultError.noSuchRecord) { try await unlocked.delete(.random()) }
    }

    @Test("Names too long for a record are refused, and nothing is written")
    func tooLong() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        let record = try #require(try await unlocked.summaries().first?.record)
        let before = try fixture.snapshot()
        let name = String(repeating: "x", count: 300_000)
        await #expect(throws: VaultError.self) { try await unlocked.rename(record, name: name, displayName: "") }
        #expect(try fixture.snapshot() == before)
    }

    @Test("Secrets are never printed")
    func secrets() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "lovelace"))
        var text = "\(unlocked) \(String(reflecting: unlocked)) \(vault)"
        dump(unlocked, to: &text)
        let key = fixture.key
        let hex = key.withUnsafeBytes { Hex.encode(Array($0)) }
        #expect(text.contains("UnlockedVault(hidden)"))
        #expect(!text.contains("lovelace"))
        #expect(!text.contains(hex))
    }

    /// Seals a body as a first revision by another device.
    @discardableResult
    static func plant(
        _ body: RecordBody,
        in fixture: VaultFixture,
        vault: Vault,
        key: SymmetricKey,
        id: RecordID = .random(),
        counter: UInt64 = 1,
        device: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    ) async throws -> RecordID {
        let revision = Revision(counter: counter, device: try #require(DeviceID(bytes: device)))
        let sealed = RecordFile(sealing: body, id: id, revision: revision, key: key, identity: vault.files.identity)
        let file = try #require(sealed)
        let directory = fixture.vault + "/records/" + id.description
        try await FileSystem.run("mkdir", "-p", "-m", "700", directory)
        try FileSystem.write(directory + "/" + revision.fileName, file.bytes)
        return id
    }
}
