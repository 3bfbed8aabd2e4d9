// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridWebAuthn
import Testing

@Suite("Valid options")
struct OptionsTests {
    @Test("all members of a registration are read")
    func creation() throws {
        let options = try Fixture.creationOptions([
            "timeout": "60000",
            "excludeCredentials": #"[{"type":"public-key","id":"yv4","transports":["hybrid"]},{"type":"x","id":"AA"}]"#,
            "authenticatorSelection": #"{"residentKey":"required","userVerification":"required"}"#,
            "attestation": "\"direct\"", "attestationFormats": #"["packed","future"]"#,
            "extensions": #"{"credProps":true,"prf":{},"largeBlob":{"support":"required"},"appid":"https://a.b"}"#,
            "hints": #"["hybrid","future"]"#,
            "future": #"{"a":[1,null]}"#,
        ])
        #expect(options.challenge == Array(0...15))
        #expect(options.relyingPartyID == "example.com" && options.relyingPartyName == "Example")
        #expect(options.user.id.bytes == [9, 8, 7] && options.user.name == "ada@example.com")
        #expect(options.user.displayName == "Ada")
        #expect(options.algorithms == [.es256, .rs256])
        #expect(options.excludeCredentials.map(\.id.bytes) == [[0xCA, 0xFE]])
        #expect(options.excludeCredentials.first?.transports == ["hybrid"])
        #expect(options.residentKey == .required && options.userVerification == .required)
        #expect(options.attestation == .direct && options.attestationFormats == ["packed", "future"])
        #expect(options.extensions.credentialProperties && options.extensions.prf == PRFInput())
        #expect(options.extensions.largeBlobRequired == true)
        #expect(options.timeoutMilliseconds == 60000)
    }

    @Test("absent members of a registration have WebAuthn's defaults")
    func creationDefaults() throws {
        let options = try Fixture.creationOptions(["rp": #"{"name":""}"#, "pubKeyCredParams": "[]"])
        #expect(options.relyingPartyID == nil && options.relyingPartyName.isEmpty)
        #expect(options.algorithms == [.es256, .rs256])
        #expect(options.excludeCredentials.isEmpty && options.timeoutMilliseconds == nil)
        #expect(options.residentKey == .discouraged && options.userVerification == .preferred)
        #expect(options.attestation == .none && options.attestationFormats.isEmpty)
        #expect(options.extensions == CreationExtensions())
    }

    @Test("all members of a sign-in are read")
    func request() throws {
        let options = try Fixture.requestOptions([
            "timeout": "1", "userVerification": "\"discouraged\"",
            "allowCredentials": #"[{"type":"future","id":"AA"},{"type":"public-key","id":"yv4"}]"#,
        ])
        #expect(options.challenge == Array(0...15) && options.relyingPartyID == "example.com")
        #expect(options.allowCredentials.map(\.id.bytes) == [[0xCA, 0xFE]])
        #expect(options.userVerification == .discouraged && options.timeoutMilliseconds == 1)
    }

    @Test("the value of publicKey is enough, and a byte order mark is no part of the text")
    func bare() throws {
        for json in [Fixture.creation(), Fixture.request()] {
            let options = try PublicKeyOptions(json: Array(json.utf8))
            let bare = json.dropFirst("{\"publicKey\":".count).dropLast()
            #expect(try PublicKeyOptions(json: Array(bare.utf8)) == options)
            #expect(try PublicKeyOptions(json: Array("\u{FEFF}\(json)".utf8)) == options)
            let empty = #"{"publicKey":null,"# + bare.dropFirst()
            #expect(try PublicKeyOptions(json: Array(empty.utf8)) == options, "null is an absent member")
        }
        let members = Fixture.request().replacing("{\"publicKey\":{", with: #"{"publicKey":{"rp":null,"user":null,"#)
        guard case .request = try PublicKeyOptions(json: Array(members.utf8)) else {
            Issue.record("a sign-in was taken for a registration")
            return
        }
        #expect(optionsError(#"{"rpId":"example.com"}"#)?.detail.contains("publicKey") == true)
        let both = #"{"challenge":"AA","publicKey":{"rpId":"example.com"}}"#
        #expect(optionsError(both)?.detail.contains("publicKey.challenge") == true)
    }

    @Test("an unpaired surrogate in a name becomes U+FFFD, as in browsers")
    func surrogates() throws {
        let user = #"{"id":"AA","name":"\ud83dx","displayName":"\ud83d\ude00"}"#
        let options = try Fixture.creationOptions(["user": user])
        #expect(options.user.name == "\u{FFFD}x" && options.user.displayName == "😀")
    }

    @Test("an integer may be written with a fraction or an exponent", arguments: ["60000.0", "6e4", "6.0E+4"])
    func integers(timeout: String) throws {
        #expect(try Fixture.requestOptions(["timeout": timeout]).timeoutMilliseconds == 60000)
    }

    @Test("null counts as absent")
    func nulls() throws {
        let options = try Fixture.requestOptions([
            "rpId": "null", "timeout": "null", "allowCredentials": "null", "userVerification": "null",
        ])
        #expect(options.relyingPartyID == nil && options.allowCredentials.isEmpty)
        #expect(try Fixture.creationOptions(["authenticatorSelection": "null"]).userVerification == .preferred)
    }

    @Test(
        "a discoverable passkey is requested by the new and the old member",
        arguments: [
            (#"{"residentKey":"required"}"#, ResidentKeyRequirement.required),
            (#"{"residentKey":"preferred"}"#, .preferred), (#"{"residentKey":"discouraged"}"#, .discouraged),
            (#"{"residentKey":"discouraged","requireResidentKey":true}"#, .discouraged),
            (#"{"requireResidentKey":true}"#, .required), (#"{"requireResidentKey":false}"#, .discouraged),
            (#"{"residentKey":"future","requireResidentKey":true}"#, .required), ("{}", .discouraged),
        ]
    )
    func residentKey(selection: String, expected: ResidentKeyRequirement) throws {
        #expect(try Fixture.creationOptions(["authenticatorSelection": selection]).residentKey == expected)
    }

    @Test("unknown values mean the default")
    func unknownWords() throws {
        #expect(try Fixture.requestOptions(["userVerification": "\"future\""]).userVerification == .preferred)
        #expect(try Fixture.creationOptions(["attestation": "\"future\""]).attestation == .none)
        let extensions = try Fixture.creationOptions(["extensions": #"{"largeBlob":{"support":"future"}}"#]).extensions
        #expect(extensions.largeBlobRequired == false)
    }
}

@Suite("Rejected options")
struct RejectedOptionsTests {
    @Test(
        "input other than JSON is reported as such",
        arguments: [
            "", "{", "publicKey", "{\"publicKey\":}", "\u{0}", "{}{}", "\u{FEFF}\u{FEFF}" + Fixture.request(),
            Fixture.request(["future": "[1,]"]), Fixture.request().replacing("}", with: ",}"),
            Fixture.request(["timeout": "01"]), Fixture.request(["rpId": #""\x""#]), Fixture.request(["rpId": "'a'"]),
        ]
    )
    func notJSON(text: String) {
        #expect(isNotJSON(text))
    }

    @Test("the place where JSON ends is named")
    func place() {
        let sentences = ["{\n  \"publicKey\": {,}\n}", "{\"\u{E4}\u{1F600}\": x", ""].map { optionsError($0)?.detail }
        #expect(
            sentences == [
                "the request is not JSON; see line 2, column 17", "the request is not JSON; see line 1, column 8",
                "the request is not JSON; see line 1, column 1",
            ]
        )
    }

    private func isNotJSON(_ text: String) -> Bool {
        let error = optionsError(text)
        return error?.detail.hasPrefix("the request is not JSON; see line ") == true && error?.name == .syntaxError
    }

    @Test("JSON in UTF-16 is rejected, as in browsers")
    func encoding() {
        let text = Fixture.request().utf8.flatMap { byte -> [UInt8] in [byte, 0] }
        for mark: [UInt8] in [[], [0xFF, 0xFE]] {
            #expect(throws: OptionsError.self) { try PublicKeyOptions(json: mark + text) }
        }
    }

    @Test("a repeated member is reported by name")
    func repeated() {
        let challenge = #""challenge":"AA""#
        let error = optionsError("{\"publicKey\":{\(challenge),\(challenge)}}")
        #expect(error?.detail == #"the member "challenge" appears twice"# && error?.name == .syntaxError)
        let names = #"{"eval":{"first":"AA"},"\u0065val":{"first":"AQ"}}"#
        let salts = optionsError(Fixture.request(["extensions": #"{"prf":\#(names)}"#]))
        #expect(salts?.detail == #"the member "eval" appears twice"#)
    }

    @Test("the number of values is limited")
    func tooMany() {
        let list = "[" + String(repeating: "0,", count: 1 << 17) + "0]"
        #expect(optionsError(Fixture.request(["future": list]))?.detail == "it has more than 131072 values")
    }

    @Test("deep nesting is rejected without a crash")
    func deep() {
        let text = String(repeating: "[", count: 100_000)
        #expect(isNotJSON(text))
        #expect(isNotJSON(Fixture.request(["future": text + String(repeating: "]", count: 100_000)])))
    }

    @Test("more than 1 MiB is rejected")
    func tooLarge() {
        #expect(optionsError(String(repeating: " ", count: (1 << 20) + 1)) == .tooLarge)
    }

    @Test(
        "missing members are reported by name",
        arguments: [
            ("{}", "publicKey"), ("{\"publicKey\":null}", "publicKey"), ("{\"publicKey\":{}}", "publicKey.challenge"),
            (Fixture.request(["challenge": nil]), "publicKey.challenge"),
            (Fixture.request(["challenge": "null"]), "publicKey.challenge"),
            (Fixture.creation(["challenge": nil]), "publicKey.challenge"),
            (Fixture.creation(["rp": nil]), "publicKey.rp"),
            (Fixture.creation(["rp": "{}"]), "publicKey.rp.name"),
            (Fixture.creation(["user": nil]), "publicKey.user"),
            (Fixture.creation(["user": #"{"name":"a","displayName":"b"}"#]), "publicKey.user.id"),
            (Fixture.creation(["user": #"{"id":"AA","displayName":"b"}"#]), "publicKey.user.name"),
            (Fixture.creation(["user": #"{"id":"AA","name":"b"}"#]), "publicKey.user.displayName"),
            (Fixture.creation(["pubKeyCredParams": nil]), "publicKey.pubKeyCredParams"),
            (Fixture.creation(["pubKeyCredParams": #"[{"alg":-7}]"#]), "publicKey.pubKeyCredParams[0].type"),
            (Fixture.creation(["pubKeyCredParams": #"[{"type":"public-key"}]"#]), "publicKey.pubKeyCredParams[0].alg"),
            (Fixture.request(["allowCredentials": #"[{"type":"public-key"}]"#]), "publicKey.allowCredentials[0].id"),
            (Fixture.request(["allowCredentials": #"[{"id":"AA"}]"#]), "publicKey.allowCredentials[0].type"),
        ]
    )
    func missing(json: String, field: String) {
        #expect(optionsError(json) == .missing(field: field))
        #expect(optionsError(json)?.detail == "\(field) is missing")
    }

    @Test(
        "members of the wrong type are reported by name",
        arguments: [
            ("[]", "the request"), ("1", "the request"), ("{\"publicKey\":[]}", "publicKey"),
            ("{\"publicKey\":\"x\"}", "publicKey"),
            (Fixture.request(["challenge": "[0,1,2]"]), "publicKey.challenge"),
            (Fixture.request(["rpId": "1"]), "publicKey.rpId"),
            (Fixture.request(["timeout": "\"60\""]), "publicKey.timeout"),
            (Fixture.request(["timeout": "1e400"]), "publicKey.timeout"),
            (Fixture.request(["timeout": "1.5"]), "publicKey.timeout"),
            (Fixture.request(["allowCredentials": "{}"]), "publicKey.allowCredentials"),
            (
                Fixture.request(["allowCredentials": #"[{"id":"AA","type":"public-key","transports":[1]}]"#]),
                "publicKey.allowCredentials[0].transports[0]"
            ),
            (Fixture.request(["userVerification": "true"]), "publicKey.userVerification"),
            (Fixture.creation(["rp": "\"x\""]), "publicKey.rp"),
            (Fixture.creation(["user": "[]"]), "publicKey.user"),
            (Fixture.creation(["pubKeyCredParams": "[-7]"]), "publicKey.pubKeyCredParams[0]"),
            (
                Fixture.creation(["pubKeyCredParams": #"[{"type":"public-key","alg":"ES256"}]"#]),
                "publicKey.pubKeyCredParams[0].alg"
            ),
            (
                Fixture.creation(["authenticatorSelection": #"{"requireResidentKey":"yes"}"#]),
                "publicKey.authenticatorSelection.requireResidentKey"
            ),
            (Fixture.creation(["attestation": "1"]), "publicKey.attestation"),
            (Fixture.creation(["extensions": #"{"credProps":1}"#]), "publicKey.extensions.credProps"),
            (Fixture.creation(["attestationFormats": "\"packed\""]), "publicKey.attestationFormats"),
            (Fixture.creation(["hints": "[1]"]), "publicKey.hints[0]"),
            (Fixture.request(["hints": "{}"]), "publicKey.hints"),
            (Fixture.request(["extensions": "[]"]), "publicKey.extensions"),
            (Fixture.request(["extensions": #"{"prf":true}"#]), "publicKey.extensions.prf"),
            (Fixture.request(["extensions": #"{"prf":{"eval":"AA"}}"#]), "publicKey.extensions.prf.eval"),
            (Fixture.request(["extensions": #"{"prf":{"eval":{"first":1}}}"#]), "publicKey.extensions.prf.eval.first"),
            (Fixture.request(["extensions": #"{"largeBlob":{"read":1}}"#]), "publicKey.extensions.largeBlob.read"),
        ]
    )
    func wrongType(json: String, field: String) {
        #expect(optionsError(json) == .wrongType(field: field))
    }

    @Test(
        "members that are not base64url are reported by name",
        arguments: [
            (Fixture.request(["challenge": "\"AAEC==\""]), "publicKey.challenge"),
            (Fixture.request(["challenge": "\"AA+/\""]), "publicKey.challenge"),
            (Fixture.creation(["user": #"{"id":"A","name":"","displayName":""}"#]), "publicKey.user.id"),
            (
                Fixture.request([
                    "allowCredentials": #"[{"id":"AA","type":"public-key"},{"id":"!","type":"public-key"}]"#
                ]),
                "publicKey.allowCredentials[1].id"
            ),
            (
                Fixture.creation(["excludeCredentials": #"[{"id":"AA=","type":"public-key"}]"#]),
                "publicKey.excludeCredentials[0].id"
            ),
        ]
    )
    func notBase64URL(json: String, field: String) {
        #expect(optionsError(json) == .notBase64URL(field: field))
        #expect(optionsError(json)?.detail == "\(field) is not base64url without padding")
    }

    @Test(
        "values that WebAuthn forbids are reported with the reason",
        arguments: [
            (Fixture.request(["challenge": "\"\""]), "publicKey.challenge is empty"),
            (
                Fixture.creation(["user": #"{"id":"","name":"","displayName":""}"#]),
                "publicKey.user.id must have 1 to 64 bytes"
            ),
            (
                Fixture.creation([
                    "user": "{\"id\":\"" + String(repeating: "AAAA", count: 22)
                        + "\",\"name\":\"\",\"displayName\":\"\"}"
                ]),
                "publicKey.user.id must have 1 to 64 bytes"
            ),
            (
                Fixture.request(["allowCredentials": #"[{"id":"","type":"public-key"}]"#]),
                "publicKey.allowCredentials has no entry of type public-key with an ID of 1 to 1023 bytes"
            ),
            (
                Fixture.request(["allowCredentials": #"[{"id":"AA","type":"future"}]"#]),
                "publicKey.allowCredentials has no entry of type public-key with an ID of 1 to 1023 bytes"
            ),
            (
                Fixture.creation(["pubKeyCredParams": #"[{"type":"future","alg":-7}]"#]),
                "publicKey.pubKeyCredParams has no entry of type public-key"
            ),
            (
                Fixture.creation(["authenticatorSelection": #"{"authenticatorAttachment":"platform"}"#]),
                "publicKey.authenticatorSelection.authenticatorAttachment requires a passkey on this computer, which a phone cannot provide"
            ),
        ]
    )
    func invalid(json: String, sentence: String) {
        #expect(optionsError(json)?.detail == sentence)
    }

    @Test("no truncation of options is read, and none crashes")
    func truncations() {
        for text in [Fixture.creation(), Fixture.request()] {
            for length in 0..<text.utf8.count {
                #expect(isNotJSON(String(text.prefix(length))))
            }
        }
    }
}
