// SPDX-License-Identifier: Apache-2.0

import Crypto
import ExchangeTestSupport
import Foundation
import HybridAuthenticator
import HybridCTAP
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCredentialExchange

@Suite("Files to import")
struct ExchangeFileTests {
    private func read(_ credentials: String, item: String = "") throws -> ExchangeFile {
        try ExchangeFile(json: Exchange.document(credentials: credentials, item: item))
    }

    private func skipped(_ file: ExchangeFile) -> [SkippedCredential: Int] {
        Dictionary(uniqueKeysWithValues: file.skipped.map { ($0.what, $0.count) })
    }

    @Test("another manager's file: passkeys that can be imported, and each skipped credential by its name")
    func otherManager() async throws {
        let file = try ExchangeFile(json: try Exchange.otherManager())
        #expect(
            file.passkeys.map(\.id.relyingParty.text) == ["example.com", "shop.example.org", "login.example.net"]
        )
        #expect(
            skipped(file) == [
                .otherType("basic-auth"): 1, .otherType("totp"): 1, .otherType("note"): 1,
                .otherType("from-the-future"): 1, .otherAlgorithm: 3, .malformed(member: "rpId"): 1,
                .malformed(member: "credentialId"): 1, .malformed(member: "userHandle"): 2,
                .malformed(member: "key"): 1,
            ]
        )
        #expect(file.incomplete.map(\.what) == ["hmacSecret"])
        let passkeys = file.passkeys
        #expect(passkeys.map(\.created) == [1_700_000_000, nil, 1_600_000_000])
        #expect(passkeys.allSatisfy { $0.passkey.isBackupEligible && $0.passkey.isDiscoverable })
        #expect(passkeys[0].passkey.user.displayName == "Ada \u{2013} L\u{F6}ve \u{1F511}")
        let secret = passkeys[0].passkey.prfSecret?.withUnsafeBytes { Array($0) }
        #expect(secret == Array(SHA256.hash(data: Array("with".utf8))))
        #expect(passkeys[0].otherSecret == Array(SHA256.hash(data: Array("without".utf8))))
        var foreign = ForeignExtensions()
        foreign.blob = Array("a small blob".utf8)
        foreign.payments = true
        foreign.largeBlob = .init(size: 11, data: [0x4B, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
        #expect(passkeys[1].foreign == foreign)
    }

    @Test("the sites of a file are counted, in alphabetical order")
    func sites() throws {
        let file = try ExchangeFile(json: try Exchange.otherManager())
        #expect(file.sites.map(\.site.text) == ["example.com", "login.example.net", "shop.example.org"])
        let twice = Exchange.passkey() + "," + Exchange.passkey(["credentialId": #""AQIE""#])
        #expect(try ExchangeFile(json: Exchange.document(credentials: twice)).sites.map(\.count) == [2])
    }

    @Test("extensions of another type are reported as lost")
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

    @Test("a truncated file is refused")
    func truncated() throws {
        let bytes = try Exchange.otherManager()
        let end = try #require(bytes.lastIndex(of: UInt8(ascii: "}")))
        for length in stride(from: 0, through: end, by: Thoroughness.isFull ? 1 : 37) {
            #expect(throws: ExchangeFile.ParseError.self) { try ExchangeFile(json: Array(bytes.prefix(length))) }
        }
    }

    @Test("with any bits flipped, every passkey that is read can be exported")
    func flipped() throws {
        var random = SeededGenerator()
        let bytes = try Exchange.otherManager()
        var (taken, refused) = (0, 0)
        for _ in 0..<Thoroughness.rounds(400, thorough: 20_000) {
            var damaged = bytes
            for _ in 0..<random.number(1...3) {
                damaged[random.number(0...bytes.count - 1)] ^= 1 << random.number(0...7)
            }
            guard let file = try? ExchangeFile(json: damaged) else {
                refused += 1
                continue
            }
            taken += 1
            #expect(file.count <= 3, "\(random)")
            #expect(throws: Never.self, "\(random)") { try fuzzExchange(damaged) }
        }
        #expect(taken > 0 && refused > 0)
    }

    @Test(
        "a document of another structure is refused as a whole, with the place of the error",
        arguments: [
            ("", "not JSON"), ("{", "not JSON"), ("[]", "the document has the wrong type"),
            ("{}", "version is missing"),
            (#"{"version":"1","accounts":[]}"#, "version has the wrong type"),
            (#"{"version":2,"accounts":[]}"#, "version 2"), (#"{"version":-1,"accounts":[]}"#, "version -1"),
            (#"{"version":{"major":2,"minor":0},"accounts":[]}"#, "version 2"),
            (#"{"version":{"major":1,"minor":0}}"#, "accounts is missing"),
            (#"{"version":{"major":1,"minor":0},"accounts":{}}"#, "accounts has the wrong type"),
            (#"{"version":{"major":1,"minor":0},"accounts":[{}]}"#, "accounts[0].items is missing"),
            (#"{"version":{"major":1},"accounts":[{"items":[{"title":""}]}]}"#, "accounts[0].items[0].credentials"),
            (#"{"version":{"major":1},"accounts":[{"items":[7]}]}"#, "accounts[0].items[0] has the wrong type"),
            (#"{"version":{"major":"1"},"accounts":[]}"#, "version.major has the wrong type"),
            (#"{"version":{"major":1e99},"accounts":[]}"#, "version.major has the wrong type"),
        ]
    )
    func shapes(json: String, words: String) throws {
        do throws(ExchangeFile.ParseError) {
            _ = try ExchangeFile(json: Array(json.utf8))
            Issue.record("\(json) was taken")
        } catch {
            #expect(error.reason.contains(words), "\(error.reason)")
        }
    }

    @Test("a later minor version and unknown members change nothing")
    func later() throws {
        let json = Exchange.document(
            credentials: Exchange.passkey(["later": "[1,2]"]),
            item:
                #""favorite":"perhaps","later":{},"extensions":[5,{"name":7},{"name":"a.example/b","backupEligible":false}],"#,
            version: #"{"major":1,"minor":255,"patch":1}"#
        )
        let file = try ExchangeFile(json: json)
        #expect(file.count == 1 && file.skipped.isEmpty)
        #expect(file.passkeys[0].passkey.isBackupEligible, "the extension is another program's")
    }

    @Test("nesting, repetition and size are limited")
    func absurd() throws {
        for depth in [50, 100, 10_000, 1_000_000] {
            let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let json = Exchange.document(credentials: Exchange.passkey(["later": nested]))
            let file = try? ExchangeFile(json: json)
            #expect((file != nil) == (depth == 50))
        }
        let deepItem = String(repeating: #"{"a":"#, count: 100_000)
        #expect(throws: ExchangeFile.ParseError.self) { try ExchangeFile(json: Array(deepItem.utf8)) }
        #expect(throws: ExchangeFile.ParseError(reason: "it is longer than 16 MiB")) {
            try ExchangeFile(json: [UInt8](repeating: UInt8(ascii: " "), count: (16 << 20) + 1))
        }
        let types = (0..<200).map { #"{"type":"t\#($0)"}"# }.joined(separator: ",")
        let many = try read(types + #",7,null,{},{"type":3}"#)
        #expect(many.skipped.count == 41 && many.skipped.reduce(0) { $0 + $1.count } == 204)
        let long = try read(#"{"type":"\#(String(repeating: "x", count: 100_000))"}"#)
        #expect(long.skipped.map(\.what) == [.otherType(String(repeating: "x", count: 64))])
        let empty = String(repeating: "{},", count: 200_000) + "{}"
        #expect(try read(empty).skipped.map(\.count) == [200_001])
    }

    @Test("the number of values is limited; contents of strings do not count")
    func values() throws {
        let limit = ExchangeFormat.maximumValues
        func note(_ member: String) -> String { #"{"type":"note","later":\#(member)}"# }
        let few = "[0" + ",0".repeated(limit - 100) + "]"
        #expect(try read(note(few)).skipped.map(\.what) == [.otherType("note")])
        for values in [note("[0" + ",0".repeated(limit) + "]"), "{},".repeated(limit) + "0"] {
            #expect(throws: ExchangeFile.ParseError(reason: "it has more than 1048576 values")) { try read(values) }
        }
        let text = #",[{:\","#.repeated(1 << 20)
        #expect(try read(note("\"\(text)\"")).skipped.map(\.what) == [.otherType("note")])
    }

    @Test("UTF-16, UTF-32, trailing commas and anything behind the document are refused")
    func strictJSON() throws {
        let document = Exchange.document(credentials: Exchange.passkey())
        let json = String(decoding: document, as: UTF8.self)
        var others = [Array((json + "{}").utf8), Array((json.dropLast() + ",}").utf8)]
        #expect(try ExchangeFile(json: [0xEF, 0xBB, 0xBF] + document).count == 1, "a byte order mark")
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf32BigEndian] {
            others.append(Array(try #require(json.data(using: encoding))))
        }
        for bytes in others {
            #expect(throws: ExchangeFile.ParseError(reason: "it is not JSON")) { try ExchangeFile(json: bytes) }
        }
    }

    @Test("a duplicate member is refused with its name, because programs disagree which one counts")
    func twice() throws {
        let doubled = Exchange.passkey().dropLast() + #","rpId":"evil.example","username":"eve"}"#
        do throws(ExchangeFile.ParseError) {
            _ = try ExchangeFile(json: Exchange.document(credentials: String(doubled)))
            Issue.record("a duplicate member was taken")
        } catch {
            #expect(error.reason.contains("rpId") && error.reason.contains("twice"), "\(error.reason)")
        }
    }

    @Test(
        "a member of the wrong type or length affects only its passkey",
        arguments: [
            ("credentialId", #""""#), ("credentialId", "7"), ("credentialId", #""A""#), ("credentialId", #""AB""#),
            ("credentialId", #""AQ=""#), ("credentialId", #""AQID=""#), ("credentialId", #""AQ+D""#), ("rpId", "null"),
            ("rpId", #""Example.com""#), ("rpId", #""example.com.""#), ("rpId", #""192.0.2.1""#), ("rpId", #""a b""#),
            ("userHandle", #""""#), ("userHandle", "null"), ("key", #""""#), ("key", "null"), ("key", #""AAAA""#),
        ]
    )
    func members(name: String, value: String) throws {
        let good = Exchange.passkey(["credentialId": #""AQIE""#])
        for changed in [Exchange.passkey([name: value]), Exchange.passkey(leaving: name)] {
            let file = try read(changed + "," + good)
            #expect(file.count == 1)
            #expect(skipped(file) == [.malformed(member: name): 1])
        }
    }

    @Test("a name of another type is lost, a missing one is empty, and the passkey stays")
    func names() throws {
        for name in ["username", "userDisplayName"] {
            for (value, lost) in [("null", []), ("[]", [name]), ("7", [name]), (nil, [])] as [(String?, [String])] {
                let passkey = value.map { Exchange.passkey([name: $0]) } ?? Exchange.passkey(leaving: name)
                let file = try read(passkey)
                let user = try #require(file.passkeys.first).passkey.user
                #expect((name == "username" ? user.name : user.displayName) == "", "\(name): \(value ?? "none")")
                #expect(file.incomplete.map(\.what) == lost && file.skipped.isEmpty)
            }
        }
        let surrogate = try read(Exchange.passkey(["username": #""Ada \ud83d!""#]))
        #expect(surrogate.passkeys.first?.passkey.user.name == "Ada \u{FFFD}!")
    }

    @Test("limits: the longest value that is accepted, and one more")
    func bounds() throws {
        func taken(_ name: String, _ count: Int) throws -> Bool {
            try read(Exchange.passkey([name: "\"\(Base64URL.encode([UInt8](repeating: 1, count: count)))\""])).count
                == 1
        }
        #expect(try taken("credentialId", 1023) && !taken("credentialId", 1024))
        #expect(try taken("userHandle", 64) && !taken("userHandle", 65))
        let name = String(repeating: "\u{20AC}", count: 30_000)
        let cut = try read(Exchange.passkey(["username": "\"\(name)\"", "userDisplayName": "\"\(name)\""]))
        let user = cut.passkeys.first?.passkey.user
        #expect(user?.name.utf8.count == 65_535, "between letters")
        #expect(user?.displayName.utf8.count == 65_535)
    }

    @Test("correct padding is accepted")
    func padding() throws {
        for (text, bytes) in [("AQ==", [1]), ("AQI=", [1, 2]), ("AQID", [1, 2, 3]), ("AQ", [1]), ("", [])] {
            #expect(Base64URL.decodePadded(text, maximumLength: 9) == bytes.map { UInt8($0) }, "\(text)")
        }
        for text in ["AQ=", "=", "==", "A===", "AQI==", "AQID====", "AQ==AQ==", "A Q", "AR", "AQJ", "\u{E9}AQ"] {
            #expect(Base64URL.decodePadded(text, maximumLength: 9) == nil, "\(text)")
        }
        var random = SeededGenerator()
        for count in 0..<100 {
            let bytes = random.bytes(count)
            #expect(Base64URL.decodePadded(Base64URL.encode(bytes), maximumLength: count) == bytes, "\(random)")
            #expect(
                count == 0 || Base64URL.decodePadded(Base64URL.encode(bytes), maximumLength: count - 1) == nil,
                "\(random)"
            )
            #expect(
                Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                    .replacing("=", with: "") == Base64URL.encode(bytes),
                "\(random)"
            )
        }
    }

    @Test("unknown members of fido2Extensions are named, and the passkey is imported")
    func extensions() throws {
        let secret = Base64URL.encode([UInt8](repeating: 1, count: 32))
        func incomplete(_ json: String) throws -> [String] {
            let file = try read(Exchange.passkey(["fido2Extensions": json]))
            #expect(file.count == 1)
            return file.incomplete.map(\.what)
        }
        #expect(try incomplete("{}") == [] && incomplete("null") == [])
        #expect(try incomplete(#"{"later":1}"#) == ["extensions of other names"])
        let good = #"{"algorithm":"hmac-sha256","credWithUV":"\#(secret)","credWithoutUV":"\#(secret)"}"#
        #expect(try incomplete(#"{"hmacCredentials":\#(good)}"#) == [])
        for bad in [
            "7", "{}", good.replacing("sha256", with: "sha512"), good.replacing(secret, with: "AQ"),
            good.replacing(#""hmac-sha256""#, with: "1"),
        ] {
            #expect(try incomplete(#"{"hmacCredentials":\#(bad)}"#) == ["hmacCredentials"], "\(bad)")
        }
        let long = Base64URL.encode([UInt8](repeating: 1, count: 70_000))
        #expect(
            try incomplete(
                #"{"credBlob":"\#(long)","largeBlob":{"uncompressedSize":1,"data":"\#(long)"},"payments":"yes"}"#
            ) == ["credBlob", "largeBlob", "payments"]
        )
    }

    @Test("this program's extension applies to the only passkey of its item")
    func ownExtension() throws {
        let own =
            #""extensions":[{"name":"hybrid-auth.invalid/passkey","backupEligible":false,"discoverable":false,"rest":"AQID"}],"#
        let passkey = try #require(try read(Exchange.passkey(), item: own).passkeys.first)
        #expect(!passkey.passkey.isBackupEligible && !passkey.passkey.isDiscoverable && passkey.rest == [1, 2, 3])
        let two = try read(Exchange.passkey() + "," + Exchange.passkey(["credentialId": #""AQIE""#]), item: own)
        #expect(
            two.passkeys.map(\.passkey.isBackupEligible) == [true, true] && two.passkeys.allSatisfy { $0.rest == nil }
        )
        let damaged = try read(Exchange.passkey(), item: own.replacing("AQID", with: "!"))
        #expect(damaged.passkeys.map(\.rest) == [nil])
    }

    @Test("a passkey that the importer refuses is skipped with the reason, in the order of the file")
    func refusedByImporter() throws {
        let json = try Exchange.otherManager()
        let reason = SkippedCredential("of another taste")
        let file = try ExchangeFile(json) { passkey throws(SkippedCredential) in
            if passkey.id.relyingParty.text == "shop.example.org" { throw reason }
        }
        #expect(file.sites.map(\.site.text) == ["example.com", "login.example.net"])
        #expect(file.incomplete.map(\.what) == ["hmacSecret"])
        #expect(file.skippedPasskeys.contains { $0.why == reason && $0.passkey.site == "shop.example.org" })
        #expect(skipped(file)[reason] == 1)
    }
}

extension String {
    fileprivate func repeated(_ count: Int) -> String { String(repeating: self, count: count) }
}
