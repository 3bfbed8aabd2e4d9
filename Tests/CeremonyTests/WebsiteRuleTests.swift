// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport
import Testing

/// Options of websites beyond a plain passkey, in ceremonies with a foreign authenticator and with python-fido2 and
/// py_webauthn as relying parties.
@Suite(
    "Options of websites",
    .keepsEvidence,
    SharedEnvironment { environment in
        _ = try await environment.verdict(on: try await environment.site("create-options"), environment.keys)
    },
    .serialized
)
struct WebsiteRuleTests {
    @Test("prf returns the same for the same salt, by credential or for all, and no more than requested")
    func prf() async throws {
        let environment = try CeremonyEnvironment.shared()
        let (one, two) = (["first": "b25l"], ["first": "dHdv", "second": "b25l"])
        func options(_ prf: [String: Any]) -> [String: Any] { ["extensions": ["prf": prf]] }
        let made = try await environment.verdict(
            on: try await environment.site(
                "create-options",
                ["--user", "prf@example.com"],
                with: options(["eval": one])
            ),
            environment.keys
        )
        #expect(made.prf?.enabled == true)
        let first = try #require(made.prf?.results?["first"])
        func signIn(_ prf: [String: Any], _ phone: [String] = []) async throws -> [String: String]? {
            let asked = try await environment.site("request-options", ["--only=\(made.id)"], with: options(prf))
            let verdict = try await environment.verdict(on: asked, environment.keys + phone)
            #expect(verdict.prf != nil)
            return verdict.prf?.results
        }
        #expect(try await signIn(["eval": one]) == ["first": first])
        let both = try #require(try await signIn(["eval": one, "evalByCredential": [made.id: two]]))
        #expect(both["second"] == first && both["first"] != first && both.count == 2)
        #expect(try await signIn(["eval": one], ["--silent-extensions"]) == nil)
        #expect(try await signIn(["eval": one], ["--lacks", "prf"]) == nil)
        #expect(try await signIn(["eval": one], ["--prf-refused"]) == nil)
        #expect(try await signIn(["eval": two], ["--prf-first-only"]) == nil)
        #expect(try await signIn([:]) == nil)

        let later = try await environment.verdict(
            on: try await environment.site(
                "create-options",
                ["--user", "later@example.com"],
                with: options(["eval": one])
            ),
            environment.keys + ["--prf-later"]
        )
        #expect(later.prf?.enabled == true && later.prf?.results == nil)
        let disabled = try await environment.verdict(
            on: try await environment.site(
                "create-options",
                ["--user", "disabled@example.com"],
                with: options(["eval": one])
            ),
            environment.keys + ["--prf-refused"]
        )
        #expect(disabled.prf?.enabled == false && disabled.prf?.results == nil)
        let without = try await environment.verdict(
            on: try await environment.site("create-options", ["--user", "without@example.com"], with: options([:])),
            environment.keys + ["--lacks", "prf"]
        )
        #expect(without.prf?.enabled == false)
    }

    @Test("a large blob can be written and read, and authenticators without support report that")
    func largeBlob() async throws {
        let environment = try CeremonyEnvironment.shared()
        let phone = environment.keys + ["--lists", "largeBlob"]
        func options(_ blob: [String: Any]) -> [String: Any] { ["extensions": ["largeBlob": blob]] }
        let asked = try await environment.site(
            "create-options",
            ["--user", "blob@example.com"],
            with: options(["support": "required"])
        )
        let made = try await environment.verdict(on: asked, phone)
        #expect(made.extensions.largeBlob == .init(supported: true))
        func signIn(_ blob: [String: Any], _ phone: [String]) async throws -> Verdict.LargeBlob? {
            let flags = ["--only=\(made.id)", "--decoys", "0"]
            let asked = try await environment.site("request-options", flags, with: options(blob))
            return try await environment.verdict(on: asked, phone).extensions.largeBlob
        }
        #expect(try await signIn(["read": true], phone) == .init())
        // Text that DEFLATE compresses with a dynamic Huffman code.
        let text = String(repeating: "a website's data, and more of it; ", count: 200) + "\u{1F512}"
        let blob = Base64URL.encode(text.utf8)
        #expect(try await signIn(["write": blob], phone) == .init(written: true))
        #expect(try await signIn(["read": true], phone) == .init(blob: blob))
        #expect(try await signIn(["write": "AAEC"], environment.keys) == .init(written: false))
        #expect(try await signIn(["read": true], environment.keys) == .init())

        let refused = try await environment.runClient(asked, environment.keys)
        #expect(refused.client.status == 77 && refused.client.output.isEmpty, "\(refused)")
        #expect(refused.client.lastLine.contains("(largeBlob), which the phone does not support (ConstraintError)"))
        #expect(
            refused.authenticator.lastOutput.contains(#""served": []"#),
            "the user is not asked: \(refused.authenticator)"
        )
    }

    @Test("attestation and credProps reach a website that asks for them")
    func attestation() async throws {
        let environment = try CeremonyEnvironment.shared()
        let direct: [String: Any] = [
            "attestation": "direct", "attestationFormats": ["packed"], "extensions": ["credProps": true],
        ]
        for (flag, kind) in [("certified", "BASIC"), ("packed", "SELF"), ("none", "NONE")] {
            let options = try await environment.site("create-options", ["--user", "\(flag)@example.com"], with: direct)
            let made = try await environment.verdict(
                on: options,
                environment.keys + ["--attestation", flag, "--lists-format", "packed", "--loose"]
            )
            #expect(made.attestation == kind)
            #expect(made.extensions.credProps?.rk == true)
        }
        // The AAGUID stays, as in WebAuthn Level 3.
        let plain = try await environment.site("create-options", ["--user", "plain@example.com"])
        let made = try await environment.verdict(on: plain, environment.keys + ["--attestation", "certified"])
        #expect(made.attestation == "NONE" && made.aaguid?.hasPrefix("c0ffee") == true)
    }

    @Test("a cross-origin frame reports the origin of its page")
    func frames() async throws {
        let environment = try CeremonyEnvironment.shared()
        let framed = try await environment.verdict(
            on: try await environment.site("request-options"),
            extra: ["--top-origin", "https://Shop.example.org:443"],
            environment.keys
        )
        #expect(framed.crossOrigin && framed.topOrigin == "https://shop.example.org")
        let same = try await environment.verdict(
            on: try await environment.site("request-options"),
            extra: ["--top-origin", "https://example.com"],
            environment.keys
        )
        #expect(!same.crossOrigin && same.topOrigin == nil)
    }

    @Test("an authenticator without a required feature is rejected before its user is asked")
    func abilities() async throws {
        let environment = try CeremonyEnvironment.shared()
        let options = try await environment.site("create-options")
        for (flags, words) in [
            (["--refuses", "rk"], "passkey, which the phone does not support (ConstraintError)"),
            (["--refuses", "uv"], "which is not set up on the phone (ConstraintError)"),
            (["--lists-algorithm", "eddsa"], "that the website accepts (NotSupportedError)"),
        ] {
            let result = try await environment.runClient(options, ["--inspect"] + flags)
            #expect(result.client.status == 77 && result.client.output.isEmpty, "\(result)")
            #expect(result.client.lastLine.contains(words), "\(result.client)")
            #expect(result.authenticator.status == 0, "\(result.authenticator)")
            #expect(result.authenticator.lastOutput.contains(#""served": []"#), "\(result.authenticator)")
        }
        let unnamed = try await environment.site(
            "create-options",
            with: ["authenticatorSelection": ["residentKey": "discouraged"]]
        )
        let refused = try await environment.runClient(unnamed, ["--only-discoverable"])
        #expect(refused.client.status == 77, "\(refused)")
        #expect(refused.client.lastLine.contains("(residentKey: required) (ConstraintError)"), "\(refused.client)")
    }

    @Test("a response without user verification is accepted only if the website does not require it")
    func unverified() async throws {
        let environment = try CeremonyEnvironment.shared()
        let preferred = try await environment.site("request-options", with: ["userVerification": "preferred"])
        let taken = try await environment.runClient(preferred, environment.keys + ["--unverified"])
        #expect(taken.client.status == 0, "\(taken)")
        let required = try await environment.site("request-options")
        let refused = try await environment.runClient(required, environment.keys + ["--unverified"])
        #expect(
            refused.client.status == 65 && refused.client.lastLine.contains("did not verify its user (NotAllowedError)")
        )
    }

    @Test("without --timeout, the timeout of the request applies")
    func timeout() async throws {
        let environment = try CeremonyEnvironment.shared()
        let options = try await environment.site("request-options", with: ["timeout": 1])
        let (client, _) = try await environment.startClient(options)
        let ending = try await client.ending()
        #expect(ending.status == 75 && ending.lastLine.contains("no phone was found nearby"), "\(ending)")
    }

    @Test(
        "an invalid request is rejected before the code is shown",
        arguments: [
            (#"{"#, "https://example.com", 65, "the request is not JSON; see line 1, column 2 (SyntaxError)"),
            (#"{"publicKey":{"rpId":"example.com"}}"#, "https://example.com", 65, "challenge is missing (TypeError)"),
            (
                #"{"publicKey":{"challenge":"A="}}"#, "https://example.com", 65,
                "publicKey.challenge is not base64url without padding (EncodingError)"
            ),
            (
                #"{"publicKey":{"challenge":"AAAA","rpId":"com"}}"#, "https://example.com", 65,
                "https://com/.well-known/webauthn is unusable: the host is not on the public internet"
            ),
            (
                #"{"publicKey":{"challenge":"AAAA","extensions":{"largeBlob":{"write":"AA"}}}}"#,
                "https://example.com", 65, "requires exactly one entry in allowCredentials (NotSupportedError)"
            ),
            (
                #"{"publicKey":{"challenge":"AAAA","allowCredentials":[{"type":"public-key","id":"AA"}],"#
                    + #""extensions":{"prf":{"evalByCredential":{"AAAA":{"first":"AA"}}}}}}"#,
                "https://example.com", 65, "has a key that is not in allowCredentials (SyntaxError)"
            ),
            (#"{"publicKey":{"challenge":"AAAA","rpId":"example.com"}}"#, "https://example.org", 65, "example.com"),
            (#"{"publicKey":{"challenge":"AAAA","rpId":"co.uk"}}"#, "https://shop.co.uk", 65, "co.uk"),
            (#"{"publicKey":{"challenge":"AAAA"}}"#, "http://example.com", 64, "--origin: the origin must begin with"),
            (#"{"publicKey":{"challenge":"AAAA"}}"#, "https://192.0.2.1", 64, "do not work with IP addresses"),
        ] as [(String, String, Int32, String)]
    )
    func refused(request: String, origin: String, status: Int32, words: String) async throws {
        let environment = try CeremonyEnvironment.shared()
        let ending = try await environment.showQR(request, origin: origin).ending()
        ending.expect(status, words)
        #expect(!ending.errors.contains("FIDO:/"), "\(ending)")
    }
}

extension CeremonyEnvironment {
    /// The flags of authenticators that inspect requests and share a file of passkeys.
    fileprivate var keys: [String] { ["--inspect", "--keys", folder + "/phone.json"] }
}
