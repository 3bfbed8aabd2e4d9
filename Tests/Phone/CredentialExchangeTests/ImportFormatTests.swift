// SPDX-License-Identifier: Apache-2.0

import Crypto
import ExchangeTestSupport
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCredentialExchange

/// Bitwarden's export and documents from the time of the working drafts; `make_documents.py` wrote the files.
@Suite("Formats of other programs")
struct ImportFormatTests {
    private func read(_ json: String) throws(ExchangeFile.ParseError) -> ExchangeFile {
        try ExchangeFile(json: Array(json.utf8))
    }

    /// Returns an export of Bitwarden with one passkey, some of whose members are replaced or, with `nil`, left out.
    private func bitwarden(_ changes: [String: String?]) throws -> ExchangeFile {
        var members: [String: String] = [
            "credentialId": #""a2e10494-af23-400c-8146-23234e1830ed""#, "rpId": #""example.com""#,
            "keyValue": "\"\(Base64URL.encode(Self.key.derRepresentation))\"", "userHandle": #""_wA""#,
        ]
        for (name, value) in changes { members[name] = value }
        let passkey = members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return try read(#"{"items":[{"login":{"fido2Credentials":[{\#(passkey)}]}}]}"#)
    }

    private static let key = P256.Signing.PrivateKey()

    /// Compares the public keys of a file's passkeys with those that Python has computed.
    private func comparePublicKeys(_ file: ExchangeFile, with name: String) throws {
        let keys = file.passkeys.map(\.passkey).map { passkey in
            let point = passkey.privateKey.publicKey.x963Representation
            return (Base64URL.encode(passkey.id.bytes), Base64URL.encode(point))
        }
        #expect(try Dictionary(uniqueKeysWithValues: keys) == Exchange.publicKeys(of: name))
    }

    @Test("Bitwarden: passkeys with both forms of credential IDs, and each omission with its site and cause")
    func bitwardenFile() throws {
        let file = try ExchangeFile(json: try Exchange.file("bitwarden.json"))
        try comparePublicKeys(file, with: "bitwarden")
        let all = file.passkeys.map(\.passkey)
        try #require(all.count == 3)
        #expect(all[0].id.bytes == Hexadecimal.bytes("a2e10494af23400c814623234e1830ed"))
        #expect(all.map(\.relyingParty.text) == ["example.com", "shop.example.org", "login.example.net"])
        #expect(file.passkeys.map(\.created) == [1_716_726_896, 1_716_726_896, nil])
        #expect(all.map(\.isDiscoverable) == [true, false, true], "discoverable unless stated otherwise")
        #expect(all[0].user.name == "ada@example.com" && all[1].user.name == "")
        #expect(all.allSatisfy { $0.isBackupEligible })
        #expect(file.incomplete.map(\.what) == ["counter"] && file.incomplete.map(\.count) == [1])
        let causes: [SkippedCredential] = [
            .otherAlgorithm, .otherAlgorithm, .malformed(member: "credentialId"), .malformed(member: "credentialId"),
            .malformed(member: "userHandle"), .malformed(member: "rpId"), .malformed(member: "keyValue"),
            .malformed(member: "userHandle"),
        ]
        #expect(file.skippedPasskeys.map(\.why) == causes)
        #expect(
            file.skippedPasskeys.map(\.passkey.account)
                == ["ed", "p384", "nil", "short", "handle", "site", "key", "truth"]
        )
        #expect(file.skippedPasskeys[5].passkey.site == "https://example.com")
        let types = file.skipped.compactMap { what, count in what.otherType.map { "\($0) \(count)" } }
        #expect(types == ["password 1", "totp 1", "note 1", "card 1", "identity 1", "ssh-key 1", "login 1"])
    }

    @Test(
        "Bitwarden: each member that is missing or malformed",
        arguments: [
            ("credentialId", nil, "credentialId"), ("credentialId", #""b64.AQI=""#, nil),
            ("credentialId", #""b64.%%""#, "credentialId"), ("credentialId", "7", "credentialId"),
            ("credentialId", #""A2E10494-AF23-400C-8146-23234E1830ED""#, nil),
            ("credentialId", #""a2e10494af23400c814623234e1830ed""#, "credentialId"),
            ("credentialId", #""a2e10494-af23-400c-8146-23234e1830eg""#, "credentialId"),
            ("credentialId", #""a2e1049-4af23-400c-8146-23234e1830ed""#, "credentialId"),
            ("keyValue", nil, "keyValue"), ("keyValue", "null", "keyValue"), ("rpId", nil, "rpId"),
            ("rpId", #""ssh:""#, "rpId"), ("userHandle", nil, "userHandle"), ("userHandle", #""""#, "userHandle"),
            ("userName", "null", nil), ("discoverable", "false", nil), ("discoverable", #""true""#, nil),
            ("discoverable", "null", nil), ("creationDate", "7", nil), ("counter", "null", nil),
        ] as [(String, String?, String?)]
    )
    func bitwardenMembers(name: String, value: String?, malformed: String?) throws {
        let file = try bitwarden([name: value])
        #expect(file.count == (malformed == nil ? 1 : 0))
        #expect(file.skippedPasskeys.map(\.why) == (malformed.map { [.malformed(member: $0)] } ?? []))
        #expect(file.incomplete.isEmpty)
    }

    @Test(
        "Bitwarden: members that a passkey can do without are lost if they have another type",
        arguments: ["userName", "userDisplayName", "discoverable"]
    )
    func bitwardenDispensable(name: String) throws {
        let file = try bitwarden([name: "[]"])
        #expect(file.passkeys.map(\.passkey.isDiscoverable) == [true])
        #expect(file.incomplete.map(\.what) == [name])
        #expect(try read(#"{"items":[{"login":{"password":7,"totp":[]}}]}"#).skipped.isEmpty)
    }

    @Test("KeePassXC: the passkey of a file, and each member that is missing or malformed")
    func keePassXC() throws {
        func file(_ changes: [String: String?] = [:]) throws -> ExchangeFile {
            let pem = Self.key.pemRepresentation.replacing("\n", with: "\\n")
            var members: [String: String] = [
                "credentialId": #""AQID""#, "privateKey": "\"\(pem)\"", "relyingParty": #""example.com""#,
                "url": #""https://example.com""#, "userHandle": #""_wA""#, "username": #""ada""#,
            ]
            for (name, value) in changes { members[name] = value }
            return try read("{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}")
        }
        let passkey = try #require(try file().passkeys.first).passkey
        #expect(passkey.privateKey.rawRepresentation == Self.key.rawRepresentation)
        #expect(passkey.id.bytes == [1, 2, 3] && passkey.relyingParty.text == "example.com")
        #expect(passkey.user.id.bytes == [0xFF, 0] && passkey.user.name == "ada" && passkey.isDiscoverable)
        for name in ["credentialId", "userHandle", "privateKey", "relyingParty"] {
            #expect(try file([name: "7"]).skippedPasskeys.map(\.why) == [.malformed(member: name)])
        }
        let begin = #"-----BEGIN PRIVATE KEY-----\n"#
        for text in ["", begin, begin + "AA", begin + #"%%\n-----END PRIVATE KEY-----"#] {
            let changed = try file(["privateKey": "\"\(text)\""])
            #expect(changed.skippedPasskeys.map(\.why) == [.malformed(member: "privateKey")], "\(text)")
        }
        let ed25519 =
            begin + #"MC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----"#
        #expect(try file(["privateKey": "\"\(ed25519)\""]).skippedPasskeys.map(\.why) == [.otherAlgorithm])
        #expect(try file(["username": nil]).count == 1)
        let pem = Self.key.pemRepresentation.replacing("\n", with: #" \t\r\n \n"#)
        #expect(try file(["privateKey": "\"\(pem)\""]).count == 1, "spaces at the ends of lines")
        let wrong = try file(["relyingParty": #""com example""#])
        #expect(wrong.skippedPasskeys.map(\.passkey.site) == ["com example"], "the file's name of the site is shown")
    }

    @Test("An encrypted export is refused by name")
    func encrypted() {
        let error = #expect(throws: ExchangeFile.ParseError.self) {
            let text = "-----BEGIN PGP MESSAGE-----\n\nwV4D\n-----END PGP MESSAGE-----\n"
            _ = try ExchangeFile(Array(text.utf8)) { _ in }
        }
        #expect(error?.reason.contains("encrypted (.pgp)") == true)
    }

    @Test("Proton Pass: an export is refused by name")
    func protonPass() {
        for json in [
            #"{"version":"1.31.0","userId":"x","encrypted":false,"vaults":{"s":{"items":[]}}}"#, #"{"vaults":{}}"#,
        ] {
            do throws(ExchangeFile.ParseError) {
                _ = try read(json)
                Issue.record("\(json) was taken")
            } catch {
                #expect(error.reason.contains("export of Proton Pass"), "\(error.reason)")
            }
        }
    }

    @Test("Bitwarden: only ES256 keys are taken", arguments: ["keyType", "keyAlgorithm", "keyCurve"])
    func bitwardenKinds(name: String) throws {
        #expect(try bitwarden([name: #""other""#]).skippedPasskeys.map(\.why) == [.otherAlgorithm])
    }

    @Test("Bitwarden: a counter above 0 is reported", arguments: ["0", #""0""#, "1", #""7""#, #""x""#, "-1"])
    func bitwardenCounter(counter: String) throws {
        let file = try bitwarden(["counter": counter])
        #expect(file.count == 1)
        #expect(file.incomplete.map(\.what) == (counter.contains("0") ? [] : ["counter"]))
    }

    @Test("Bitwarden: encrypted exports are refused with the way to export without encryption")
    func bitwardenEncrypted() throws {
        for json in [try Exchange.file("bitwarden-encrypted.json"), Array(#"{"encrypted":true,"items":[]}"#.utf8)] {
            do throws(ExchangeFile.ParseError) {
                _ = try ExchangeFile(json: json)
                Issue.record("an encrypted export was taken")
            } catch {
                #expect(error.reason.contains("encrypted export of Bitwarden; export again with the format .json or"))
            }
        }
    }

    @Test(
        "Bitwarden: an export of another structure is refused as a whole, with the place of the error",
        arguments: [
            (#"{"encrypted":false}"#, "items is missing"),
            (#"{"encrypted":"no","items":[]}"#, "encrypted has the wrong type"),
            (#"{"items":{}}"#, "items has the wrong type"), (#"{"items":[7]}"#, "items[0] has the wrong type"),
            (#"{"items":[{"login":7}]}"#, "items[0].login has the wrong type"),
            (#"{"items":[{"login":{"fido2Credentials":{}}}]}"#, "items[0].login.fido2Credentials has the wrong type"),
        ]
    )
    func bitwardenShapes(json: String, words: String) throws {
        do throws(ExchangeFile.ParseError) {
            _ = try read(json)
            Issue.record("\(json) was taken")
        } catch {
            #expect(error.reason.contains(words), "\(error.reason)")
        }
    }

    @Test("Bitwarden: with any bits flipped or the end missing, every passkey that is read can be exported")
    func bitwardenDamaged() throws {
        var random = SeededGenerator()
        let bytes = try Exchange.file("bitwarden.json")
        let end = try #require(bytes.lastIndex(of: UInt8(ascii: "}")))
        for length in stride(from: 0, through: end, by: Thoroughness.isFull ? 1 : 97) {
            #expect(throws: ExchangeFile.ParseError.self) { try ExchangeFile(json: Array(bytes.prefix(length))) }
        }
        for _ in 0..<Thoroughness.rounds(300, thorough: 20_000) {
            var damaged = bytes
            damaged[random.number(0...bytes.count - 1)] ^= 1 << random.number(0...7)
            #expect(throws: Never.self, "\(random)") { try fuzzExchange(damaged) }
        }
    }

    @Test("Working drafts: a version without parts, CamelCase types, userName, and the drafts' large blobs")
    func draft() throws {
        let file = try ExchangeFile(json: try Exchange.file("cxf-draft.json"))
        try comparePublicKeys(file, with: "cxf-draft")
        let passkey = try #require(file.passkeys.first)
        #expect(passkey.passkey.user.name == "ada@example.com" && passkey.created == 1_710_755_527)
        #expect(passkey.foreign.largeBlob?.size == 11)
        #expect(file.incomplete.map(\.what) == ["hmacSecret"])
        #expect(file.skipped.compactMap(\.what.otherType) == ["BasicAuth"])
        #expect(file.skippedPasskeys.map(\.why) == [.malformed(member: "credentialId")])
        #expect(file.skippedPasskeys.map(\.passkey) == [PasskeyLabel(site: "example.com", account: "eve")])
    }

    @Test("Working drafts: the final name of a member counts, and another compression is reported")
    func draftMembers() throws {
        for (type, count) in [("passkey", 1), ("Passkey", 1), ("PassKey", 1), ("passkeys", 0), ("pass-key", 0)] {
            let json = Exchange.document(credentials: Exchange.passkey(["type": "\"\(type)\""]), version: "1")
            #expect(try ExchangeFile(json: json).count == count, "\(type)")
        }
        let both = Exchange.document(credentials: Exchange.passkey(["userName": #""draft""#]))
        #expect(try ExchangeFile(json: both).passkeys.map(\.label.account) == ["ada"])
        let neither = Exchange.document(credentials: Exchange.passkey(leaving: "username"))
        #expect(try ExchangeFile(json: neither).passkeys.map(\.label.account) == [""])
        for (blob, lost) in [
            (#"{"size":1,"alg":"deflate","data":"AQ"}"#, []), (#"{"size":1,"alg":"zstd","data":"AQ"}"#, ["largeBlob"]),
            (#"{"alg":"deflate","data":"AQ"}"#, ["largeBlob"]),
        ] {
            let extensions = #"{"largeBlob":\#(blob)}"#
            let json = Exchange.document(credentials: Exchange.passkey(["fido2Extensions": extensions]))
            #expect(try ExchangeFile(json: json).incomplete.map(\.what) == lost, "\(blob)")
        }
    }

    @Test("labels for messages are short")
    func labels() throws {
        let long = String(repeating: "\u{1F511}", count: 100_000)
        let file = try bitwarden(["rpId": "\"\(long)\"", "userName": "\"\(long)\""])
        #expect(file.skippedPasskeys.first?.passkey.site?.unicodeScalars.count == 64)
        #expect(file.skippedPasskeys.first?.passkey.account?.unicodeScalars.count == 64)
    }
}
