// SPDX-License-Identifier: Apache-2.0

import HybridPromptModel
import Testing

@Suite("The purpose of a request for an encryption key")
struct EncryptionKeyRequestTests {
    private static let key = "secret-abcdefghijkl2457.invalid"
    private static let anyProgram = "Any program of yours may have asked"

    private func request(_ operation: String, _ members: String = "", rp: String = key) throws -> PromptRequest {
        let line = #"{"event":"request","operation":"\#(operation)","rp_id":"\#(rp)"\#(members)}"#
        return try #require(try TimedModel(line).view.request)
    }

    @Test(
        "names operation and key",
        arguments: [
            ("secret-create", #"Create the encryption key "laptop""#),
            ("secret-add-phone", #"Add a phone to the encryption key "laptop""#),
        ]
    )
    func changes(operation: String, purpose: String) throws {
        let request = try request(operation, #","key":"laptop","timeout_ms":120000"#)
        #expect(request.purpose == purpose && request.timeout == .seconds(120))
        #expect(request.details == ["Passkey of \(Self.key)"])
        #expect(!request.isRemote && request.cautions.isEmpty)
    }

    @Test("of opening a key names what it is opened for, and that any program may have asked")
    func open() throws {
        let plain = try request("secret-open", #","key":"laptop""#)
        #expect(plain.purpose == #"Open the key "laptop""#)
        #expect(plain.details == ["Passkey of \(Self.key)", Self.anyProgram])
        let named = try request("secret-open", #","key":"laptop","purpose":"restic:laptop""#)
        #expect(named.purpose == plain.purpose)
        #expect(named.details == [#"For "restic:laptop""#] + plain.details)
    }

    @Test("of a file names the passkey, and the attempt if there are several")
    func files() throws {
        let encrypt = try request("secret-encrypt", rp: "files.example.com")
        #expect(encrypt.purpose == "Encrypt a file with the passkey of files.example.com")
        let decrypt = try request("secret-decrypt", rp: "files.example.com")
        #expect(decrypt.purpose == "Decrypt a file with the passkey of files.example.com")
        let only = try request("secret-decrypt", #","attempt":1,"attempts":1"#, rp: "files.example.com")
        let extra = try request("secret-encrypt", #","attempt":1,"attempts":2"#, rp: "files.example.com")
        for request in [encrypt, extra, decrypt, only] { #expect(request.details == [Self.anyProgram]) }
        for (attempt, attempts) in [(1, 3), (3, 3), (1000, 1000)] {
            let members = #","attempt":\#(attempt),"attempts":\#(attempts)"#
            let request = try request("secret-decrypt", members, rp: "files.example.com")
            let count = "Attempt \(attempt) of \(attempts): the file does not say which passkey opens it"
            #expect(request.purpose == decrypt.purpose && request.details == [count, Self.anyProgram])
        }
    }

    @Test("shows who may have asked also next to the code")
    func code() throws {
        let line = #"{"event":"request","operation":"secret-open","rp_id":"\#(Self.key)","key":"laptop"}"#
        var model = try TimedModel(line, Line.code)
        try model.enter("scan")
        #expect(model.view.code != nil && model.view.request?.details.last == Self.anyProgram)
    }

    @Test("shows names without control, bidirectional and invisible characters")
    func names() throws {
        let members = #","key":"a\" of b\u202e\n\u200b<b>","purpose":"x\u0007\n\"y""#
        let request = try request("secret-open", members)
        #expect(request.purpose == #"Open the key "a' of bb""#)
        #expect(request.details.first == #"For "x'y""#)
    }

    @Test(
        "is refused if it can't be shown safely",
        arguments: [
            #""operation":"secret-create","rp_id":"k.invalid""#, #""operation":"secret-create","key":"k""#,
            #""operation":"secret-create","rp_id":"k.invalid","key":7"#,
            #""operation":"secret-create","rp_id":"ssh:","key":"k""#,
            #""operation":"secret-add-phone","rp_id":"k.invalid""#, #""operation":"secret-add-phone","key":"k""#,
            #""operation":"secret-add-phone","rp_id":"pam://desk","key":"k""#,
            #""operation":"secret-open","rp_id":"k.invalid""#, #""operation":"secret-open","key":"k""#,
            #""operation":"secret-open","rp_id":"k.invalid:1","key":"k""#,
            #""operation":"secret-open","rp_id":"k.invalid","key":"k","purpose":7"#,
            #""operation":"secret-open","rp_id":"k.invalid","key":"k","purpose":null"#,
            #""operation":"secret-encrypt""#, #""operation":"secret-encrypt","rp_id":"a b""#,
            #""operation":"secret-encrypt","rp_id":"ssh:work""#,
            #""operation":"secret-decrypt""#, #""operation":"secret-decrypt","rp_id":"еxample.com""#,
            #""operation":"secret-decrypt","rp_id":"k.invalid","attempt":1"#,
            #""operation":"secret-decrypt","rp_id":"k.invalid","attempts":2"#,
            #""operation":"secret-decrypt","rp_id":"k.invalid","attempt":0,"attempts":2"#,
            #""operation":"secret-decrypt","rp_id":"k.invalid","attempt":3,"attempts":2"#,
            #""operation":"secret-decrypt","rp_id":"k.invalid","attempt":-1,"attempts":-1"#,
            #""operation":"secret-decrypt","rp_id":"k.invalid","attempt":1,"attempts":1001"#,
            #""operation":"secret-decrypt","rp_id":"k.invalid","attempt":"1","attempts":2"#,
            #""operation":"secret-decrypt","rp_id":"k.invalid","attempt":1.5,"attempts":2"#,
            #""operation":"secret-decrypt","rp_id":"k.invalid","attempt":1,"attempts":null"#,
            #""operation":"secret-remove","rp_id":"k.invalid","key":"k""#,
        ]
    )
    func refusals(members: String) {
        #expect(throws: PromptInputError.unusableRequest, "\(members)") {
            try TimedModel(#"{"event":"request",\#(members)}"#)
        }
    }
}
