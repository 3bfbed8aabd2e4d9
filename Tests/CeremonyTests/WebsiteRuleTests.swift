// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What a website may ask of hybrid-client beyond a plain passkey, on whole ceremonies with a foreign phone;
/// python-fido2 and py_webauthn judge what comes of it.
@Suite(
    "What websites ask for",
    .keepsEvidence,
    SharedStage { props in
        _ = try await props.judged(try await props.options("create-options"), props.keys)
    },
    .serialized
)
struct WebsiteRuleTests {
    @Test("prf gives the same for the same salt, by credential or for all, and only what was asked")
    func prf() async throws {
        let props = try SharedStage.take()
        let (one, two) = (["first": "b25l"], ["first": "dHdv", "second": "b25l"])
        func options(_ prf: [String: Any]) -> [String: Any] { ["extensions": ["prf": prf]] }
        let made = try await props.judged(
            try await props.options("create-options", ["--user", "prf@example.com"], with: options(["eval": one])),
            props.keys
        )
        #expect(made.prf?.enabled == true)
        let first = try #require(made.prf?.results?["first"])
        func signIn(_ prf: [String: Any], _ phone: [String] = []) async throws -> [String: String]? {
            let asked = try await props.options("request-options", ["--only=\(made.id)"], with: options(prf))
            let verdict = try await props.judged(asked, props.keys + phone)
            #expect(verdict.prf != nil)
            return verdict.prf?.results
        }
        #expect(try await signIn(["eval": one]) == ["first": first])
        let both = try #require(try await signIn(["eval": one, "evalByCredential": [made.id: two]]))
        #expect(both["second"] == first && both["first"] != first && both.count == 2)
        #expect(try await signIn(["eval": one], ["--silent-extensions"]) == nil)
        #expect(try await signIn(["eval": one], ["--lacks", "prf"]) == nil)
        #expect(try await signIn([:]) == nil)

        let later = try await props.judged(
            try await props.options("create-options", ["--user", "later@example.com"], with: options(["eval": one])),
            props.keys + ["--prf-later"]
        )
        #expect(later.prf?.enabled == true && later.prf?.results == nil)
        let without = try await props.judged(
            try await props.options("create-options", ["--user", "without@example.com"], with: options([:])),
            props.keys + ["--lacks", "prf"]
        )
        #expect(without.prf?.enabled == false)
    }

    @Test("a blob that was written is read again, and phones that keep none say so")
    func largeBlob() async throws {
        let props = try SharedStage.take()
        let phone = props.keys + ["--lists", "largeBlob"]
        func options(_ blob: [String: Any]) -> [String: Any] { ["extensions": ["largeBlob": blob]] }
        let asked = try await props.options(
            "create-options",
            ["--user", "blob@example.com"],
            with: options(["support": "required"])
        )
        let made = try await props.judged(asked, phone)
        #expect(made.extensions.largeBlob == .init(supported: true))
        func signIn(_ blob: [String: Any], _ phone: [String]) async throws -> Verdict.LargeBlob? {
            let flags = ["--only=\(made.id)", "--decoys", "0"]
            let asked = try await props.options("request-options", flags, with: options(blob))
            return try await props.judged(asked, phone).extensions.largeBlob
        }
        #expect(try await signIn(["read": true], phone) == .init())
        // Text that zlib makes shorter, in a code of its own.
        let text = String(repeating: "a website's data, and more of it; ", count: 200) + "\u{1F512}"
        let blob = Data(text.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        #expect(try await signIn(["write": blob], phone) == .init(written: true))
        #expect(try await signIn(["read": true], phone) == .init(blob: blob))
        #expect(try await signIn(["write": "AAEC"], props.keys) == .init(written: false))
        #expect(try await signIn(["read": true], props.keys) == .init())

        let refused = try await props.hybridClient(asking: asked, props.keys)
        #expect(refused.desktop.status == 77 && refused.desktop.output.isEmpty, "\(refused)")
        #expect(refused.desktop.lastLine.contains("keeps none (ConstraintError)"))
        #expect(refused.phone.lastOutput.contains(#""served": []"#), "its user is not asked: \(refused.phone)")
    }

    @Test("attestation reaches who asks for it, signed by the maker or by the key itself, and credProps tells")
    func attestation() async throws {
        let props = try SharedStage.take()
        let direct: [String: Any] = [
            "attestation": "direct", "attestationFormats": ["packed"], "extensions": ["credProps": true],
        ]
        for (flag, kind) in [("certified", "BASIC"), ("packed", "SELF"), ("none", "NONE")] {
            let options = try await props.options("create-options", ["--user", "\(flag)@example.com"], with: direct)
            let made = try await props.judged(
                options,
                props.keys + ["--attestation", flag, "--lists-format", "packed", "--loose"]
            )
            #expect(made.attestation == kind)
            #expect(made.extensions.credProps?.rk == true)
        }
        // The model's name is told all the same, as Level 3 has it.
        let plain = try await props.options("create-options", ["--user", "plain@example.com"])
        let made = try await props.judged(plain, props.keys + ["--attestation", "certified"])
        #expect(made.attestation == "NONE" && made.aaguid?.hasPrefix("c0ffee") == true)
    }

    @Test("a frame tells the website in which page it stood")
    func frames() async throws {
        let props = try SharedStage.take()
        let framed = try await props.judged(
            try await props.options("request-options"),
            with: ["--top-origin", "https://Shop.example.org:443"],
            props.keys
        )
        #expect(framed.crossOrigin && framed.topOrigin == "https://shop.example.org")
        let same = try await props.judged(
            try await props.options("request-options"),
            with: ["--top-origin", "https://example.com"],
            props.keys
        )
        #expect(!same.crossOrigin && same.topOrigin == nil)
    }

    @Test("a phone without what a website insists on is left before its user is asked")
    func abilities() async throws {
        let props = try SharedStage.take()
        let options = try await props.options("create-options")
        for (flags, words) in [
            (["--refuses", "rk"], "keeps none (ConstraintError)"),
            (["--refuses", "uv"], "not set up for it (ConstraintError)"),
            (["--lists-algorithm", "eddsa"], "that the website takes (NotSupportedError)"),
        ] {
            let meeting = try await props.hybridClient(asking: options, ["--inspect"] + flags)
            #expect(meeting.desktop.status == 77 && meeting.desktop.output.isEmpty, "\(meeting)")
            #expect(meeting.desktop.lastLine.contains(words), "\(meeting.desktop)")
            #expect(meeting.phone.status == 0, "\(meeting.phone)")
            #expect(meeting.phone.lastOutput.contains(#""served": []"#), "\(meeting.phone)")
        }
        let unnamed = try await props.options(
            "create-options",
            with: ["authenticatorSelection": ["residentKey": "discouraged"]]
        )
        let refused = try await props.hybridClient(asking: unnamed, ["--only-discoverable"])
        #expect(refused.desktop.status == 77, "\(refused)")
        #expect(refused.desktop.lastLine.contains("(residentKey: required) (ConstraintError)"), "\(refused.desktop)")
    }

    @Test("who does not require that the user is verified takes an answer without")
    func unverified() async throws {
        let props = try SharedStage.take()
        let preferred = try await props.options("request-options", with: ["userVerification": "preferred"])
        let taken = try await props.hybridClient(asking: preferred, props.keys + ["--unverified"])
        #expect(taken.desktop.status == 0, "\(taken)")
        let required = try await props.options("request-options")
        let refused = try await props.hybridClient(asking: required, props.keys + ["--unverified"])
        #expect(refused.desktop.status == 65 && refused.desktop.lastLine.contains("did not verify (NotAllowedError)"))
    }

    @Test("a request's own time-out holds where none is given")
    func timeout() async throws {
        let props = try SharedStage.take()
        let options = try await props.options("request-options", with: ["timeout": 1])
        let (client, _) = try await props.stage.startClient(options)
        let ending = try await client.ending(within: .seconds(60))
        #expect(ending.status == 75 && ending.lastLine.contains("no phone was heard nearby"), "\(ending)")
    }

    @Test(
        "a request that no browser would take is refused before anything is shown",
        arguments: [
            (#"{"#, "https://example.com", 65, "the request is not JSON (SyntaxError)"),
            (#"{"publicKey":{"rpId":"example.com"}}"#, "https://example.com", 65, "challenge is missing (TypeError)"),
            (
                #"{"publicKey":{"challenge":"A="}}"#, "https://example.com", 65,
                "publicKey.challenge is not base64url without padding (EncodingError)"
            ),
            (
                #"{"publicKey":{"challenge":"AAAA","rpId":"com"}}"#, "https://example.com", 65,
                "because anybody can register below it (SecurityError)"
            ),
            (
                #"{"publicKey":{"challenge":"AAAA","extensions":{"largeBlob":{"write":"AA"}}}}"#,
                "https://example.com", 65, "needs exactly one entry in allowCredentials (NotSupportedError)"
            ),
            (
                #"{"publicKey":{"challenge":"AAAA","allowCredentials":[{"type":"public-key","id":"AA"}],"#
                    + #""extensions":{"prf":{"evalByCredential":{"AAAA":{"first":"AA"}}}}}}"#,
                "https://example.com", 65, "has a key that is not in allowCredentials (SyntaxError)"
            ),
            (#"{"publicKey":{"challenge":"AAAA"}}"#, "http://example.com", 64, "--origin: the origin must begin with"),
            (#"{"publicKey":{"challenge":"AAAA"}}"#, "https://192.0.2.1", 64, "do not work with IP addresses"),
        ] as [(String, String, Int32, String)]
    )
    func refused(request: String, origin: String, status: Int32, words: String) async throws {
        let stage = try SharedStage.take().stage
        let client = try RunningProgram(
            "hybrid-client",
            ["show-qr", "--request", "-", "--origin", origin, "--print-url"],
            in: stage.folder,
            environment: stage.environment(),
            input: request
        )
        let ending = try await client.ending()
        #expect(ending.status == status && ending.lastLine.contains(words), "\(ending)")
        #expect(ending.output.isEmpty && !ending.errors.contains("FIDO:/"), "\(ending)")
    }
}

extension SharedStage.Props {
    /// Where the phones of these tests keep their passkeys, with an eye on what they are asked.
    fileprivate var keys: [String] { ["--inspect", "--keys", stage.folder + "/phone.json"] }
}
