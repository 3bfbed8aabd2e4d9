// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridAuthenticator
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridVault

@Suite("Passkeys out of a vault and into another")
struct ExchangeTests {
    private func exported(_ bench: Workbench, _ name: String = "export.json") async throws -> (String, [UInt8]) {
        let path = bench.root + "/" + name
        _ = try await bench.unlock().exportPasskeys(to: path)
        return (path, Array(try Data(contentsOf: URL(fileURLWithPath: path))))
    }

    @Test("every member of every record comes back, also those that this version does not know")
    func roundTrip() async throws {
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(6, thorough: 100) {
            let (bench, other) = (try Workbench(), try Workbench())
            try bench.createWithoutPIN()
            try other.createWithoutPIN()
            let unlocked = try bench.unlock()
            for _ in 0..<random.number(1...8) { try await unlocked.put(Exchange.randomBody(&random)) }
            let (path, first) = try await exported(bench)
            let result = try await other.unlock().add(try await ExchangeFile.read(path))
            let before = try Exchange.bodies(unlocked, bench.key)
            #expect(result == PasskeyImport(added: before.count, present: 0), "\(random)")
            #expect(try Exchange.bodies(other.unlock(), other.key) == before, "\(random)")
            let (_, second) = try await exported(other)
            // The identifiers of account and items are the vault's own.
            let file = (try ExchangeFile(json: first), try ExchangeFile(json: second))
            #expect(file.0.passkeys.map(\.name) == file.1.passkeys.map(\.name), "\(random): the order is kept")
        }
    }

    @Test("a file that is imported again adds nothing, and changes no byte")
    func again() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let file = try ExchangeFile(json: try Exchange.otherManager())
        #expect(try await bench.unlock().add(file) == PasskeyImport(added: 3, present: 0))
        let entry = try #require(try await bench.unlock().entries().first)
        try await bench.unlock().rename(entry.record, name: "renamed", displayName: "since")
        let before = try bench.snapshot()
        #expect(try await bench.unlock().add(file) == PasskeyImport(added: 0, present: 3))
        #expect(try bench.snapshot() == before)
        let (path, _) = try await exported(bench)
        #expect(try await bench.unlock().add(try await ExchangeFile.read(path)).added == 0)
        #expect(try bench.snapshot() == before)
    }

    @Test("the same credential ID at another site is another passkey; twice in one file is once")
    func identity() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let credentials = [
            Exchange.passkey(), Exchange.passkey(["username": #""second""#]),
            Exchange.passkey(["rpId": #""example.org""#]),
        ]
        let file = try ExchangeFile(json: Exchange.document(credentials: credentials.joined(separator: ",")))
        #expect(try await bench.unlock().add(file) == PasskeyImport(added: 2, present: 0, different: 1))
        #expect(try await bench.unlock().entries().map(\.user?.name) == ["ada", "ada"], "the first counts")
    }

    @Test("what was deleted comes back when a person imports it, in a record of its own")
    func deleted() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let file = try ExchangeFile(json: Exchange.document(credentials: Exchange.passkey()))
        var names: Set<RecordID> = []
        for _ in 0..<3 {
            #expect(try await bench.unlock().add(file).added == 1)
            let entry = try #require(try await bench.unlock().entries().first)
            #expect(names.insert(entry.record).inserted, "a deleted record stays deleted")
            try await bench.unlock().delete(entry.record)
        }
        #expect(try await bench.unlock().entries().isEmpty)
    }

    @Test("two devices that import one file before they hear of each other have each passkey once")
    func union() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let other = try await bench.copy()
        let there = try other.joinWithoutPIN()
        let file = try ExchangeFile(json: try Exchange.otherManager())
        #expect(try await bench.unlock().add(file).added == 3)
        #expect(try await there.add(file).added == 3)
        try await FileSystem.run("sh", "-c", "cp -rn \(other.vault)/. \(bench.vault)/")
        #expect(try await bench.unlock().entries().count == 3)
        #expect(try bench.unlock().notes.isEmpty)
    }

    @Test("a passkey of another manager signs in here, and answers prf with the secret it had there")
    func signIn() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        _ = try await bench.unlock().add(try ExchangeFile(json: try Exchange.otherManager()))
        let known = try Exchange.publicKeys()
        let hash = try #require(ClientDataHash(bytes: Array(SHA256.hash(data: Array("client data".utf8)))))
        let salt = Array(SHA256.hash(data: Array("salt".utf8)))
        for site in ["example.com", "shop.example.org", "login.example.net"] {
            let party = try #require(RelyingPartyID(site))
            let authenticator = Authenticator(store: OpenStore(bench: bench), user: Yes())
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
            #expect(!response.authenticatorData.flags.contains(.backedUp), "no backup of ours has it")
            let secret = SymmetricKey(data: Array(SHA256.hash(data: Array("with".utf8))))
            let expected = Array(HMAC<SHA256>.authenticationCode(for: salt, using: secret))
            let outputs = response.unsignedExtensionOutputs?["prf"]?.map?["results"]?.map?["first"]?.bytes
            #expect(outputs == (site == "example.com" ? expected : nil), "\(site)")
        }
    }

    @Test("an export is a new file of ours alone, and holds what can be used")
    func file() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh())
        try await unlocked.put(["id": .bytes([1]), "rp": "example.com", "alg": -8, "key": .bytes([1]), "order": 9])
        let path = bench.root + "/export.json"
        #expect(try await unlocked.exportPasskeys(to: path) == PasskeyExport(exported: 1, unusable: 1))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let before = try FileSystem.read(path)
        await #expect(throws: VaultError.fileExists(path: path)) { try await unlocked.exportPasskeys(to: path) }
        #expect(try FileSystem.read(path) == before)
        let link = bench.root + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: bench.root + "/elsewhere")
        await #expect(throws: VaultError.fileExists(path: link)) { try await unlocked.exportPasskeys(to: link) }
        let nowhere = bench.root + "/none/export.json"
        await #expect(throws: VaultError.self) { try await unlocked.exportPasskeys(to: nowhere) }
        #expect(try FileSystem.names(bench.root).sorted() == ["export.json", "link", "state", "vault"])
        await unlocked.lock()
        await #expect(throws: VaultError.locked) { try await unlocked.exportPasskeys(to: path + "2") }
        await #expect(throws: VaultError.locked) {
            try await unlocked.add(try ExchangeFile(json: try Exchange.otherManager()))
        }
    }

    @Test("an export goes nowhere into the vault and to no directory, and leaves nothing there")
    func place() async throws {
        let bench = try Workbench()
        let vault = try bench.createWithoutPIN()
        let unlocked = try bench.unlock()
        try await unlocked.add(.fresh())
        let link = bench.root + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: bench.vault + "/records")
        let before = try FileSystem.names(bench.vault).sorted() + FileSystem.names(bench.vault + "/records").sorted()
        for path in [bench.vault + "/export.json", bench.vault + "/records/export.json", link + "/export.json"] {
            await #expect(throws: VaultError.exportIntoVault(path: path)) {
                try await unlocked.exportPasskeys(to: path)
            }
            #expect(throws: VaultError.exportIntoVault(path: path)) { try vault.checkExport(to: path) }
        }
        for path in ["/", "", ".", bench.root, bench.root + "/", bench.root + "/none/", bench.vault, link] {
            await #expect(throws: VaultError.exportNamesDirectory(path: path)) {
                try await unlocked.exportPasskeys(to: path)
            }
        }
        #expect(try FileSystem.names(bench.root).sorted() == ["link", "state", "vault"])
        let after = try FileSystem.names(bench.vault).sorted() + FileSystem.names(bench.vault + "/records").sorted()
        #expect(after == before)
        // A name that only begins like the vault's.
        #expect(throws: Never.self) { try vault.checkExport(to: bench.vault + "-export.json") }
    }

    @Test("other members that make a record unreadable cost that passkey")
    func unreadableRest() throws {
        let limit = CBORLimits().items
        // That many can be read as they are; with the other members of the record they can not.
        for (count, kept) in [(10, 1), (limit - 3, 0)] {
            let rest: CBORMap = ["zz-later": .array([CBORValue](repeating: .unsigned(1), count: count))]
            let text = Base64URL.encode(CBOREncoder.encode(.map(rest)))
            let own = #"{"name":"hybrid-auth.invalid/passkey","rest":"\#(text)"}"#
            let item = #""extensions":[\#(own)],"#
            let file = try ExchangeFile(json: Exchange.document(credentials: Exchange.passkey(), item: item))
            #expect(file.count == kept)
        }
    }

    @Test("extensions of another kind are told as lost")
    func lostExtensions() throws {
        let secret = Base64URL.encode([UInt8](repeating: 1, count: 32))
        let hmac = #""hmacCredentials":{"algorithm":"hmac-sha256","credWithUV":"\#(secret)","credWithoutUV":"AQ"}"#
        for (value, lost) in [
            ("[]", ["fido2Extensions"]), ("null", []), (#"{"news":1,"other":2}"#, ["extensions of other names"]),
            ("{\(hmac)}", ["credWithoutUV"]),
        ] {
            let json = Exchange.document(credentials: Exchange.passkey(["fido2Extensions": value]))
            let file = try ExchangeFile(json: json)
            #expect(file.count == 1)
            #expect(file.incomplete.map(\.what) == lost, "\(value)")
        }
    }

    @Test("two exports say the same of the secret that is made for others")
    func madeSecret() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        var body = PasskeyBody(try Passkey.fresh(), order: 1, created: 1).members
        body["prf"] = .bytes([UInt8](repeating: 7, count: 32))
        try await bench.unlock().put(body)
        #expect(try await exported(bench, "one").1 == exported(bench, "two").1)
    }

    @Test("a vault is not filled beyond what it can hold, and then nothing is added")
    func full() async throws {
        let bench = try Workbench()
        try bench.createWithoutPIN()
        let credentials = (0...10_000).map { number in
            Exchange.passkey(["credentialId": "\"\(Base64URL.encode(Array("\(number)".utf8)))\""], key: Self.key)
        }
        #expect(throws: ExchangeFile.Refusal.self) {
            try ExchangeFile(json: Exchange.document(credentials: credentials.joined(separator: ",")))
        }
        let most = credentials.dropLast().joined(separator: ",")
        let file = try ExchangeFile(json: Exchange.document(credentials: most))
        #expect(file.count == 10_000)
        try await bench.unlock().add(.fresh())
        let before = try bench.snapshot()
        await #expect(throws: VaultError.self) { try await bench.unlock().add(file) }
        #expect(try bench.snapshot() == before)
    }

    private static let key = P256.Signing.PrivateKey()
}

/// A vault that needs no PIN, because stretching one takes long.
private struct OpenStore: CredentialStore {
    let bench: Workbench

    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        do {
            return try bench.unlock()
        } catch {
            throw .unusable(error.sentence)
        }
    }
}

/// A person who agrees.
private struct Yes: UserInteraction {
    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        guard let pin = Array("1234".utf8).withUnsafeBytes({ PIN(utf8: $0) }) else { throw .declined }
        return pin
    }

    func confirmCreation(of: UserEntity, for: RelyingPartyID, replacing: [UserEntity]) async throws(UserRefusal) {}
    func chooseAccount(_: [UserEntity], for: RelyingPartyID) async throws(UserRefusal) -> Int { 0 }
    func tell(_: Notice, relyingParty: RelyingPartyID) async throws(UserRefusal) {}
}
