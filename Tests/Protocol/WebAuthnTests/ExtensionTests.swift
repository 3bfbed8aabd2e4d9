// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridPrimitives
import HybridWebAuthn
import TestSupport
import Testing

@Suite("Extension inputs")
struct ExtensionInputTests {
    private static let two = #"[{"type":"public-key","id":"yv4"},{"type":"public-key","id":"AAAA"}]"#

    private func phone(_ extensions: [String]) throws -> AuthenticatorInfo {
        AuthenticatorInfo(versions: ["FIDO_2_0"], extensions: extensions, aaguid: .zero, options: [:], transports: [])
    }

    private func salt(_ text: String) throws -> PRFSalt {
        try #require(PRFSalt(bytes: Array(SHA256.hash(data: Array("WebAuthn PRF\0\(text)".utf8)))))
    }

    @Test("salts are hashed according to Level 3 §10.1.4")
    func salts() throws {
        let options = try Fixture.requestOptions(["extensions": #"{"prf":{"eval":{"first":"b25l","second":""}}}"#])
        let salts = try #require(options.extensions.prf?.salts)
        // Computed with another implementation of SHA-256.
        #expect(
            salts.first.bytes
                == Hexadecimal.bytes("538a561310d5420ba60c25544907d1dea8a60c072d5a0ac9702275bb33a5bbde")
        )
        #expect(
            salts.second?.bytes
                == Hexadecimal.bytes("6a7e64b2aa34c92736143a062fa149aff1bd8bb3f7ee6f346885481f9414a3d3")
        )
    }

    @Test("prf is sent to phones that list it, in the form for phones")
    func prf() throws {
        let creation = try CreationCeremony(
            Fixture.creationOptions(["extensions": #"{"prf":{"eval":{"first":"b25l"}}}"#]),
            origin: Fixture.origin()
        )
        let asked = try CTAPRequest.makeCredential(creation.ctapRequest(for: phone(["prf"])))
        let made = try CTAPRequest(parsing: asked.encoded)
        guard case .makeCredential(let request) = made else { throw Fixture.OtherKind() }
        #expect(try request.prf == PRFInput(salts: PRFSalts(first: salt("one"))))
        #expect(try creation.ctapRequest(for: phone(["hmac-secret"])).extensions == nil)

        let byCredential =
            #"{"prf":{"eval":{"first":"b25l"},"evalByCredential":{"yv4":{"first":"dHdv","second":"b25l"}}}}"#
        let ceremony = try RequestCeremony(
            Fixture.requestOptions(["allowCredentials": Self.two, "extensions": byCredential]),
            origin: Fixture.origin()
        )
        let wish = try CTAPRequest.getAssertion(ceremony.ctapRequest(for: phone(["prf"])))
        let read = try CTAPRequest(parsing: wish.encoded)
        guard case .getAssertion(let request) = read else { throw Fixture.OtherKind() }
        #expect(
            try request.prf
                == PRFInput(
                    salts: PRFSalts(first: salt("one")),
                    saltsByCredential: [
                        Fixture.credentialID(): PRFSalts(first: salt("two"), second: salt("one"))
                    ]
                )
        )
        #expect(try ceremony.ctapRequest(for: phone([])).extensions == nil)
    }

    @Test("a sign-in without salts sends no prf input")
    func prfWithoutSalts() throws {
        for extensions in [#"{"prf":{}}"#, #"{"prf":{"evalByCredential":{}}}"#] {
            let ceremony = try RequestCeremony(
                Fixture.requestOptions(["extensions": extensions]),
                origin: Fixture.origin()
            )
            #expect(ceremony.ctapRequest.extensions == nil)
        }
    }

    @Test("largeBlob has Chromium's form")
    func largeBlob() throws {
        func creation(_ extensions: String) throws -> CBORMap? {
            try CreationCeremony(Fixture.creationOptions(["extensions": extensions]), origin: Fixture.origin())
                .ctapRequest(for: phone(["largeBlob"])).extensions
        }
        #expect(try creation(#"{"largeBlob":{"support":"required"}}"#) == ["largeBlob": ["support": "required"]])
        #expect(try creation(#"{"largeBlob":{"support":"preferred"}}"#) == ["largeBlob": ["support": "preferred"]])
        #expect(try creation(#"{"largeBlob":{}}"#) == ["largeBlob": ["support": "preferred"]])
        func signIn(_ extensions: String) throws -> CBORMap? {
            let one = #"[{"type":"public-key","id":"yv4"}]"#
            return try RequestCeremony(
                Fixture.requestOptions(["allowCredentials": one, "extensions": extensions]),
                origin: Fixture.origin()
            ).ctapRequest(for: phone(["largeBlob"])).extensions
        }
        #expect(try signIn(#"{"largeBlob":{"read":true}}"#) == ["largeBlob": ["read": true]])
        #expect(try signIn(#"{"largeBlob":{"read":false}}"#) == nil)
        let stored: [UInt8] = [1, 2, 0, 0xFD, 0xFF, 0xCA, 0xFE]
        #expect(
            try signIn(#"{"largeBlob":{"write":"yv4"}}"#)
                == ["largeBlob": ["write": .bytes(stored), "originalSize": 2]]
        )
    }

    @Test(
        "violations of an extension's rules are reported with the member",
        arguments: [
            // §10.1.4, registration, step 1.
            (true, #"{"prf":{"evalByCredential":{}}}"#, WebAuthnErrorName.notSupportedError, "prf.evalByCredential"),
            // §10.1.4, authentication, step 1.
            (
                false, #"{"prf":{"evalByCredential":{"yv4":{"first":"AA"}}}}"#, .notSupportedError,
                "prf.evalByCredential requires allowCredentials"
            ),
            // §10.1.5, registration, step 1.
            (true, #"{"largeBlob":{"read":true}}"#, .notSupportedError, "largeBlob.read"),
            (true, #"{"largeBlob":{"read":false}}"#, .notSupportedError, "largeBlob.read"),
            (true, #"{"largeBlob":{"write":""}}"#, .notSupportedError, "largeBlob.write"),
            // §10.1.5, authentication, steps 1, 2 and 4.
            (false, #"{"largeBlob":{"support":"preferred"}}"#, .notSupportedError, "largeBlob.support"),
            (false, #"{"largeBlob":{"read":true,"write":"AA"}}"#, .notSupportedError, "largeBlob cannot"),
            (false, #"{"largeBlob":{"write":"AA"}}"#, .notSupportedError, "largeBlob.write requires exactly one"),
            // Web IDL: required members and types; §5.1.8: base64url.
            (false, #"{"prf":{"eval":{}}}"#, .typeError, "prf.eval.first is missing"),
            (
                false, #"{"prf":{"evalByCredential":{"\u0000\nyv4":{}}}}"#, .typeError,
                #"prf.evalByCredential["yv4"].first is missing"#
            ),
            (true, #"{"prf":{"eval":{"first":"A"}}}"#, .encodingError, "prf.eval.first"),
            (false, #"{"largeBlob":{"write":"A="}}"#, .encodingError, "largeBlob.write"),
        ]
    )
    func refused(isCreation: Bool, extensions: String, name: WebAuthnErrorName, words: String) {
        let changes = ["extensions": extensions] as [String: String?]
        let error = optionsError(isCreation ? Fixture.creation(changes) : Fixture.request(changes))
        #expect(error?.name == name)
        #expect(error?.detail.hasPrefix("publicKey.extensions.\(words)") == true, "\(error?.detail ?? "no error")")
    }

    /// §10.1.4, authentication, step 2.
    @Test("salts for a passkey that is not listed are a SyntaxError", arguments: ["", "AA", "yv4=", "y v4", "AAAAA"])
    func unknownCredential(key: String) {
        let error = optionsError(
            Fixture.request([
                "allowCredentials": Self.two,
                "extensions": #"{"prf":{"evalByCredential":{"AAAA":{"first":"AA"},"\#(key)":{"first":"AA"}}}}"#,
            ])
        )
        #expect(error?.name == .syntaxError)
        #expect(error?.detail.hasPrefix("publicKey.extensions.prf.evalByCredential has a key") == true)
    }

    @Test("writing to two passkeys is rejected")
    func writeToTwo() {
        let error = optionsError(
            Fixture.request(["allowCredentials": Self.two, "extensions": #"{"largeBlob":{"write":"AA"}}"#])
        )
        #expect(error?.name == .notSupportedError)
    }
}

@Suite("Extension outputs")
struct ExtensionOutputTests {
    private let key = P256.Signing.PrivateKey()
    private static let first = [UInt8](repeating: 1, count: 32)
    private static let second = [UInt8](repeating: 2, count: 32)
    private static let both: CBORValue = ["first": .bytes(first), "second": .bytes(second)]
    private static let firstText = Base64URL.encode(first)

    private func created(_ extensions: String, _ outputs: CBORMap?) throws -> String {
        var response = try Fixture.created(key)
        response.unsignedExtensionOutputs = outputs
        let ceremony = try CreationCeremony(
            Fixture.creationOptions(["extensions": extensions]),
            origin: Fixture.origin()
        )
        return try results(ceremony.responseJSON(from: response, phone: Fixture.phone()))
    }

    private func used(_ extensions: String, _ outputs: CBORMap?) throws -> String {
        let one = #"[{"type":"public-key","id":"yv4"}]"#
        let ceremony = try RequestCeremony(
            Fixture.requestOptions(["allowCredentials": one, "extensions": extensions]),
            origin: Fixture.origin()
        )
        var response = try Fixture.assertion(key, hash: ceremony.clientData.hash)
        response.unsignedExtensionOutputs = outputs
        return try results(ceremony.responseJSON(from: response))
    }

    private func results(_ json: [UInt8]) throws -> String {
        let text = String(decoding: json, as: UTF8.self)
        let start = try #require(text.firstRange(of: #""clientExtensionResults":"#)).upperBound
        let end = try #require(text.firstRange(of: #","type":"#)).lowerBound
        return String(text[start..<end])
    }

    @Test("a registration reports the phone's support")
    func creation() throws {
        let plain = #"{"prf":{}}"#
        #expect(try created(plain, nil) == #"{"prf":{"enabled":false}}"#)
        #expect(try created(plain, ["prf": ["enabled": true]]) == #"{"prf":{"enabled":true}}"#)
        #expect(try created(plain, ["prf": ["enabled": true, "results": Self.both]]) == #"{"prf":{"enabled":true}}"#)
        let eval = #"{"prf":{"eval":{"first":"AA"}}}"#
        #expect(
            try created(eval, ["prf": ["enabled": true, "results": ["first": .bytes(Self.first)]]])
                == "{\"prf\":{\"enabled\":true,\"results\":{\"first\":\"\(Self.firstText)\"}}}"
        )
        let blob = #"{"credProps":true,"largeBlob":{"support":"preferred"}}"#
        #expect(try created(blob, nil) == #"{"credProps":{},"largeBlob":{"supported":false}}"#)
        #expect(
            try created(blob, ["largeBlob": ["supported": true]])
                == #"{"credProps":{},"largeBlob":{"supported":true}}"#
        )
        #expect(try created("{}", ["prf": ["enabled": true], "largeBlob": ["supported": true], "other": 1]) == "{}")
    }

    @Test("a sign-in returns the requested results, with precedence for the credential's salts")
    func signIn() throws {
        let outputs: CBORMap = ["prf": ["results": Self.both]]
        let byCredential =
            #"{"prf":{"eval":{"first":"AA"},"evalByCredential":{"yv4":{"first":"AA","second":"AAA"}}}}"#
        #expect(try used(byCredential, outputs).contains(Base64URL.encode(Self.second)))
        #expect(try used(#"{"prf":{}}"#, outputs) == #"{"prf":{}}"#)
        #expect(try used(#"{"prf":{"eval":{"first":"AA"}}}"#, nil) == #"{"prf":{}}"#)
        #expect(try used("{}", outputs) == "{}")
        let write = #"{"largeBlob":{"write":"AA"}}"#
        #expect(try used(write, ["largeBlob": ["written": true]]) == #"{"largeBlob":{"written":true}}"#)
        #expect(try used(write, ["largeBlob": ["written": false]]) == #"{"largeBlob":{"written":false}}"#)
        #expect(try used(write, nil) == #"{"largeBlob":{"written":false}}"#)
        let read = #"{"largeBlob":{"read":true}}"#
        let stored: CBORValue = .bytes([1, 2, 0, 0xFD, 0xFF, 0xCA, 0xFE])
        #expect(
            try used(read, ["largeBlob": ["blob": stored, "originalSize": 2]]) == #"{"largeBlob":{"blob":"yv4"}}"#
        )
        #expect(try used(read, ["largeBlob": ["blob": stored, "originalSize": 3]]) == #"{"largeBlob":{}}"#)
        #expect(try used(read, nil) == #"{"largeBlob":{}}"#)
    }

    @Test(
        "a malformed output counts as absent and does not fail the registration or sign-in",
        arguments: [
            ["prf": true], ["prf": ["results": ["first": .bytes([1])]]], ["prf": ["results": [:]]],
            ["prf": ["results": ["first": "text"]]], ["prf": ["results": both]],
            ["largeBlob": []], ["largeBlob": ["blob": .bytes([3, 0])]], ["largeBlob": ["blob": "", "originalSize": 0]],
            ["largeBlob": ["blob": .bytes([3, 0]), "originalSize": -1]], ["largeBlob": ["written": 1]],
        ] as [CBORMap]
    )
    func malformed(outputs: CBORMap) throws {
        let asked = #"{"prf":{"eval":{"first":"AA"}},"largeBlob":{"read":true}}"#
        #expect(try used(asked, outputs) == #"{"prf":{},"largeBlob":{}}"#)
        // If the registration failed here, the website would not know the new passkey.
        let made = #"{"prf":{"eval":{"first":"AA"}},"largeBlob":{"support":"preferred"}}"#
        #expect(try created(made, outputs) == #"{"prf":{"enabled":false},"largeBlob":{"supported":false}}"#)
        // Outputs without a request are ignored.
        #expect(try used("{}", outputs) == "{}")
    }
}
