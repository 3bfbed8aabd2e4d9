// SPDX-License-Identifier: Apache-2.0

import Crypto
import ExchangeTestSupport
import Foundation
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridCredentialExchange
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridVault

@Suite("Export and import of passkeys")
struct ExchangeTests {
    private func exported(_ fixture: VaultFixture, _ name: String = "export.json") async throws -> (String, [UInt8]) {
        let path = fixture.root + "/" + name
        _ = try await fixture.unlock().exportPasskeys(to: path)
        return (path, Array(try Data(contentsOf: URL(fileURLWithPath: path))))
    }

    @Test("every member of every record survives, even those that this version does not know")
    func roundTrip() async throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(6, thorough: 100) {
            let (fixture, other) = (try VaultFixture(), try VaultFixture())
            try fixture.createWithoutPIN()
            try other.createWithoutPIN()
            let unlocked = try fixture.unlock()
            for _ in 0..<random.number(1...8) { try await unlocked.put(Exchange.randomBody(&random)) }
            let (path, first) = try await exported(fixture)
            let result = try await other.unlock().add(try await ExchangeFile.read(path))
            let before = try Exchange.bodies(unlocked, fixture.key)
            #expect(result == PasskeyImport(added: before.count, present: [], different: []), "\(random)")
            #expect(try Exchange.bodies(other.unlock(), other.key) == before, "\(random)")
            let (_, second) = try await exported(other)
            // The IDs of account and items are those of the vault.
            let file = (try ExchangeFile(json: first), try ExchangeFile(json: second))
            #expect(file.0.passkeys.map(\.id) == file.1.passkeys.map(\.id), "\(random): the order is kept")
        }
    }

    @Test("imported passkeys are offered after those created here, whatever the file says")
    func offeredLast() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh(user: "old"))
        let rest = Base64URL.encode(CBOREncoder.encode(["imported": false, "order": .unsigned(.max)] as CBORMap))
        let own = #""extensions":[{"name":"hybrid-auth.invalid/passkey","rest":"\#(rest)"}],"#
        for (id, item) in [("AQID", ""), ("AQIE", own)] {
            let credential = Exchange.passkey(["credentialId": "\"\(id)\"", "username": "\"\(id)\""])
            let file = try ExchangeFile(json: Exchange.document(credentials: credential, item: item))
            #expect(file.sites.map(\.site.text) == ["example.com"] && file.sites.map(\.count) == [1])
            #expect(try await unlocked.add(file).added == 1)
        }
        try await unlocked.add(.fresh(user: "new"))
        let record = try #require(try await unlocked.summaries().first { $0.user?.name == "AQIE" }?.record)
        try await unlocked.rename(record, name: "renamed", displayName: "")
        let party = try #require(RelyingPartyID("example.com"))
        #expect(try await unlocked.passkeys(for: party).map(\.user.name) == ["new", "old", "renamed", "AQID"])
        #expect(try await unlocked.summaries().map(\.user?.name) == ["new", "renamed", "AQID", "old"], "by time")
    }

    @Test("an import that cannot be recorded among the seen revisions is reported, and its passkeys are durable")
    func notRecorded() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let (files, key) = (try fixture.open().files, fixture.key)
        let file = try ExchangeFile(json: try Exchange.otherManager())
        let seen = try fixture.stateOfVault() + "/seen"
        let refused = await VaultFixture.refusal {
            try FileStep.$recorder.withValue(
                { step in
                    // The state was read before; a file cannot replace a directory.
                    if case .linked = step { _ = rename(seen, seen + "-kept") == 0 && mkdir(seen, 0o755) == 0 }
                },
                operation: { _ = try files.add(file.passkeys, key: key) }
            )
        }
        guard case .changeNotRecorded? = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        try await FileSystem.run("sh", "-c", "rmdir \(seen) && mv \(seen)-kept \(seen)")
        #expect(try await fixture.unlock().summaries().count == 3)
    }

    @Test("importing a file again adds nothing and changes no byte")
    func again() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let file = try ExchangeFile(json: try Exchange.otherManager())
        #expect(try await fixture.unlock().add(file) == PasskeyImport(added: 3, present: [], different: []))
        let labels = file.passkeys.map(\.label)
        let entry = try #require(try await fixture.unlock().summaries().first)
        try await fixture.unlock().rename(entry.record, name: "renamed", displayName: "since")
        let before = try fixture.snapshot()
        #expect(try await fixture.unlock().add(file) == PasskeyImport(added: 0, present: labels, different: []))
        #expect(try fixture.snapshot() == before)
        let (path, _) = try await exported(fixture)
        #expect(try await fixture.unlock().add(try await ExchangeFile.read(path)).added == 0)
        #expect(try fixture.snapshot() == before)
    }

    @Test("the same credential ID at another site is another passkey; a duplicate in a file counts once")
    func identity() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let credentials = [
            Exchange.passkey(), Exchange.passkey(["username": #""second""#]),
            Exchange.passkey(["rpId": #""example.org""#]),
        ]
        let file = try ExchangeFile(json: Exchange.document(credentials: credentials.joined(separator: ",")))
        let second = PasskeyLabel(site: "example.com", account: "second")
        #expect(try await fixture.unlock().add(file) == PasskeyImport(added: 2, present: [], different: [second]))
        #expect(try await fixture.unlock().summaries().map(\.user?.name) == ["ada", "ada"], "the first counts")
    }

    @Test("a deleted passkey that is imported again gets a new record")
    func deleted() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let file = try ExchangeFile(json: Exchange.document(credentials: Exchange.passkey()))
        var names: Set<RecordID> = []
        for _ in 0..<3 {
            #expect(try await fixture.unlock().add(file).added == 1)
            let entry = try #require(try await fixture.unlock().summaries().first)
            #expect(names.insert(entry.record).inserted, "a deleted record stays deleted")
            try await fixture.unlock().delete(entry.record)
        }
        #expect(try await fixture.unlock().summaries().isEmpty)
    }

    @Test("two devices that import one file before they sync have each passkey once")
    func union() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let other = try await fixture.copy()
        let there = try other.joinWithoutPIN()
        let file = try ExchangeFile(json: try Exchange.otherManager())
        #expect(try await fixture.unlock().add(file).added == 3)
        #expect(try await there.add(file).added == 3)
        try await FileSystem.run("sh", "-c", "cp -rn \(other.vault)/. \(fixture.vault)/ || true")
        #expect(try await fixture.unlock().summaries().count == 3)
        #expect(try fixture.unlock().warnings.isEmpty)
    }

    @Test("a passkey of another manager signs in and returns the same prf results")
    func signIn() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        _ = try await fixture.unlock().add(try ExchangeFile(json: try Exchange.otherManager()))
        let known = try Exchange.publicKeys()
        let hash = try #require(ClientDataHash(bytes: Array(SHA256.hash(data: Array("client data".utf8)))))
        let salt = Array(SHA256.hash(data: Array("salt".utf8)))
        for site in ["example.com", "shop.example.org", "login.example.net"] {
            let party = try #require(RelyingPartyID(site))
            let authenticator = Authenticator(store: OpenStore(fixture: fixture), user: Yes())
            let request = GetAssertionRequest(
                relyingPartyID: party,
                clientDataHash: hash,
                extensions: ["prf": ["eval": ["first": .bytes(salt)]]],
                userVerification: true
            )
            let answer = await authenticator.answer(.getAssertion(request))
            #expect(answer.status == .success)
            let response = try GetAssertionResponse(parsing: answer.body)
            let id = try #require(response.credential?.id)
            let bytes = try #require(known[Base64URL.encode(id.bytes)].flatMap { Hexadecimal.bytes($0) })
            let key = try P256.Signing.PublicKey(x963Representation: bytes)
            let signature = try P256.Signing.ECDSASignature(derRepresentation: response.signature)
            #expect(key.isValidSignature(signature, for: response.authenticatorData.encoded + hash.bytes), "\(site)")
            #expect(response.authenticatorData.relyingPartyIDHash == party.hash)
            #expect(response.authenticatorData.signatureCount == 0)
            #expect(response.authenticatorData.flags.contains(.backupEligible))
            #expect(!response.authenticatorData.flags.contains(.backedUp), "no backup contains it")
            let secret = SymmetricKey(data: Array(SHA256.hash(data: Array("with".utf8))))
            let expected = Array(HMAC<SHA256>.authenticationCode(for: salt, using: secret))
            let outputs = response.unsignedExtensionOutputs?["prf"]?.map?["results"]?.map?["first"]?.bytes
            #expect(outputs == (site == "example.com" ? expected : nil), "\(site)")
        }
    }

    @Test("an export is a new private file and contains the usable passkeys")
    func file() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        try await unlocked.put(["id": .bytes([1]), "rp": "example.com", "alg": -8, "key": .bytes([1]), "order": 9])
        let path = fixture.root + "/export.json"
        #expect(try await unlocked.exportPasskeys(to: path) == PasskeyExport(exported: 1, unusable: 1))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let folder = try Directory.open(path: fixture.root)
        #expect(folder.isPrivate("export.json"))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(!folder.isPrivate("export.json"))
        let before = try FileSystem.read(path)
        await #expect(throws: VaultError.fileExists(path: path)) { try await unlocked.exportPasskeys(to: path) }
        #expect(try FileSystem.read(path) == before)
        let link = fixture.root + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fixture.root + "/elsewhere")
        await #expect(throws: VaultError.fileExists(path: link)) { try await unlocked.exportPasskeys(to: link) }
        let nowhere = fixture.root + "/none/export.json"
        await #expect(throws: VaultError.self) { try await unlocked.exportPasskeys(to: nowhere) }
        #expect(try FileSystem.names(fixture.root).sorted() == ["export.json", "link", "state", "vault"])
        await unlocked.lock()
        await #expect(throws: VaultError.locked) { try await unlocked.exportPasskeys(to: path + "2") }
        await #expect(throws: VaultError.locked) {
            try await unlocked.add(try ExchangeFile(json: try Exchange.otherManager()))
        }
    }

    @Test("an export into the vault or onto a directory is refused and leaves nothing behind")
    func place() async throws {
        let fixture = try VaultFixture()
        let vault = try fixture.createWithoutPIN()
        let unlocked = try fixture.unlock()
        try await unlocked.add(.fresh())
        let link = fixture.root + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fixture.vault + "/records")
        let before =
            try FileSystem.names(fixture.vault).sorted() + FileSystem.names(fixture.vault + "/records").sorted()
        for path in [fixture.vault + "/export.json", fixture.vault + "/records/export.json", link + "/export.json"] {
            await #expect(throws: VaultError.exportIntoVault(path: path)) {
                try await unlocked.exportPasskeys(to: path)
            }
            #expect(throws: VaultError.exportIntoVault(path: path)) { try vault.checkExport(to: path) }
        }
        for path in ["/", "", ".", fixture.root, fixture.root + "/", fixture.root + "/none/", fixture.vault, link] {
            await #expect(throws: VaultError.exportNamesDirectory(path: path)) {
                try await unlocked.exportPasskeys(to: path)
            }
        }
        #expect(try FileSystem.names(fixture.root).sorted() == ["link", "state", "vault"])
        let after = try FileSystem.names(fixture.vault).sorted() + FileSystem.names(fixture.vault + "/records").sorted()
        #expect(after == before)
        // A name that only begins like the vault's.
        #expect(throws: Never.self) { try vault.checkExport(to: fixture.vault + "-export.json") }
    }

    private func read(_ credentials: String, item: String) throws -> ExchangeFile {
        try ExchangeFile(json: Exchange.document(credentials: credentials, item: item))
    }

    @Test("this program's extension never overrides members of the format")
    func ownExtension() throws {
        let rest: CBORMap = [
            "later": 1, "rp": "evil.example", "key": .bytes([1]), "alg": -8, "be": 7, "user": ["x": 1],
        ]
        let text = Base64URL.encode(CBOREncoder.encode(rest))
        let own =
            #""extensions":[{"name":"hybrid-auth.invalid/passkey","backupEligible":false,"discoverable":false,"rest":"\#(text)"}],"#
        let body = try PasskeyBody(read(Exchange.passkey(), item: own).passkeys[0], order: 3, now: 4).members
        #expect(body["later"] == 1 && body["rp"] == "example.com" && body["alg"] == -7 && body["order"] == 3)
        #expect(body["be"] == false && body["rk"] == false && body["user"]?.map?["x"] == 1)
        #expect(PasskeyBody(members: body).passkey?.isBackupEligible == false)
        for bad in [
            "AA", "!", "oA", Base64URL.encode([0xA1, 0x61]), Base64URL.encode([UInt8](repeating: 0x81, count: 9999)),
        ] {
            let damaged = own.replacing(text, with: bad)
            #expect(try read(Exchange.passkey(), item: damaged).count == 1, "\(bad)")
        }
        let huge = Base64URL.encode(
            CBOREncoder.encode(["later": .bytes([UInt8](repeating: 1, count: 262_000))] as CBORMap)
        )
        #expect(try read(Exchange.passkey(), item: own.replacing(text, with: huge)).skipped.map(\.what) == [.tooLarge])
    }

    @Test("a file of another manager becomes complete records")
    func records() throws {
        let file = try ExchangeFile(json: try Exchange.otherManager())
        let bodies = file.passkeys.map { PasskeyBody($0, order: 1, now: 5).members }
        #expect(bodies.map { $0["created"] } == [1_700_000_000, 5, 1_600_000_000])
        #expect(bodies.allSatisfy { $0["be"] == true && $0["rk"] == nil && $0["imported"] == true })
        #expect(bodies[0]["user"]?.map?["displayName"] == "Ada \u{2013} L\u{F6}ve \u{1F511}")
        #expect(bodies[0]["prf"] == .bytes(Array(SHA256.hash(data: Array("with".utf8)))))
        #expect(bodies[0]["prf0"] == .bytes(Array(SHA256.hash(data: Array("without".utf8)))))
        let blobs: CBORValue = [
            "blob": .bytes(Array("a small blob".utf8)), "payments": true,
            "large": ["size": 11, "data": .bytes([0x4B, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])],
        ]
        #expect(bodies[1]["cxf"] == blobs)
        for body in bodies { #expect(PasskeyBody(members: body).passkey != nil) }
    }

    @Test("a passkey is skipped if its other members make the record unreadable")
    func unreadableRest() throws {
        let limit = CBORLimits().items
        // That many can be read on their own, but not together with the record's other members.
        for (count, kept) in [(10, 1), (limit - 3, 0)] {
            let rest: CBORMap = ["zz-later": .array([CBORValue](repeating: .unsigned(1), count: count))]
            let text = Base64URL.encode(CBOREncoder.encode(.map(rest)))
            let own = #"{"name":"hybrid-auth.invalid/passkey","rest":"\#(text)"}"#
            let item = #""extensions":[\#(own)],"#
            let file = try ExchangeFile(json: Exchange.document(credentials: Exchange.passkey(), item: item))
            #expect(file.count == kept)
        }
    }

    @Test("a file is read from disk by its content, not by its name")
    func fromDisk() async throws {
        let fixture = try VaultFixture()
        let path = fixture.root + "/export.json"
        try FileSystem.write(path, try Exchange.file("bitwarden.zip"))
        #expect(try await ExchangeFile.read(path).count == 3)
        try FileSystem.write(path, try Exchange.file("bitwarden.zip").dropLast())
        await #expect(throws: VaultError.importInvalid("the archive is damaged")) { try await ExchangeFile.read(path) }
    }

    @Test("Bitwarden: an import adds what can be used here, and a second one nothing")
    func bitwardenImport() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let file = try ExchangeFile(json: try Exchange.file("bitwarden.json"))
        #expect(try await fixture.unlock().add(file).added == 3)
        let again = try await fixture.unlock().add(file)
        #expect(again.added == 0 && again.present.map(\.account) == ["ada@example.com", "", "cy"])
        #expect(try await fixture.unlock().summaries().map(\.isDiscoverable) == [true, false, true])
    }

    @Test("two exports contain the same derived secret")
    func madeSecret() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        var body = PasskeyBody(try Passkey.fresh(), order: 1, created: 1).members
        body["prf"] = .bytes([UInt8](repeating: 7, count: 32))
        try await fixture.unlock().put(body)
        #expect(try await exported(fixture, "one").1 == exported(fixture, "two").1)
    }

    @Test("an import beyond the limit of the vault adds nothing")
    func full() async throws {
        let fixture = try VaultFixture()
        try fixture.createWithoutPIN()
        let credentials = (0...10_000).map { number in
            Exchange.passkey(["credentialId": "\"\(Base64URL.encode(Array("\(number)".utf8)))\""], key: Self.key)
        }
        #expect(throws: ExchangeFile.ParseError.self) {
            try ExchangeFile(json: Exchange.document(credentials: credentials.joined(separator: ",")))
        }
        let most = credentials.dropLast().joined(separator: ",")
        let file = try ExchangeFile(json: Exchange.document(credentials: most))
        #expect(file.count == 10_000)
        try await fixture.unlock().add(.fresh())
        let before = try fixture.snapshot()
        await #expect(throws: VaultError.self) { try await fixture.unlock().add(file) }
        #expect(try fixture.snapshot() == before)
    }

    private static let key = P256.Signing.PrivateKey()
}

/// A vault that needs no PIN, because key derivation is slow.
private struct OpenStore: CredentialStore {
    let fixture: VaultFixture

    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        do {
            return try fixture.unlock()
        } catch {
            throw .unusable(error.sentence)
        }
    }
}

/// A user who consents.
private struct Yes: UserInteraction {
    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        guard let pin = Array("1234".utf8).withUnsafeBytes({ PIN(utf8: $0) }) else { throw .declined }
        return pin
    }

    func confirmCreation(of: UserEntity, for: RequestedOperation, replacing: [UserEntity]) async throws(UserRefusal) {}
    func chooseAccount(_: [UserEntity], for: RequestedOperation) async throws(UserRefusal) -> Int { 0 }
    func show(_: Notice, for: RequestedOperation) async throws(UserRefusal) {}
}
