// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCBOR
import HybridCTAP
import HybridWebAuthn
import TestSupport
import Testing

@Suite("Client data")
struct ClientDataTests {
    @Test("the bytes match WebAuthn's serialization")
    func bytes() throws {
        let data = ClientData(.create, challenge: Array(0...15), origin: try Origin("https://Example.com:8443"))
        let expected =
            #"{"type":"webauthn.create","challenge":"AAECAwQFBgcICQoLDA0ODw","#
            + #""origin":"https://example.com:8443","crossOrigin":false}"#
        #expect(String(decoding: data.json, as: UTF8.self) == expected)
        #expect(data.hash.bytes == Array(SHA256.hash(data: Array(expected.utf8))))
    }

    @Test("a sign-in has a type of its own")
    func type() throws {
        let data = ClientData(.get, challenge: [0xFF], origin: try Origin("http://localhost:80"))
        let expected = #"{"type":"webauthn.get","challenge":"_w","origin":"http://localhost","crossOrigin":false}"#
        #expect(String(decoding: data.json, as: UTF8.self) == expected)
    }
}

@Suite("Client data of frames")
struct FramedClientDataTests {
    /// WebAuthn Level 3 §5.8.1.1, steps 9 to 13: other members follow the first four.
    @Test("the top origin is included if and only if it differs")
    func topOrigin() throws {
        func json(_ origin: String, in top: String?) throws -> String {
            let top = try top.map { try Origin($0) }
            let data = ClientData(.get, challenge: [0], origin: try Origin(origin), topOrigin: top)
            #expect(data.hash.bytes == Array(SHA256.hash(data: data.json)))
            return String(decoding: data.json, as: UTF8.self)
        }
        let head = #"{"type":"webauthn.get","challenge":"AA","origin":"https://a.example","crossOrigin":"#
        #expect(try json("https://a.example", in: nil) == head + "false}")
        #expect(try json("https://a.example", in: "https://A.example:443") == head + "false}")
        let framed = head + #"true,"topOrigin":"https://b.example:8443"}"#
        #expect(try json("https://a.example", in: "https://b.example:8443") == framed)
        let samePort = head + #"true,"topOrigin":"https://a.example:8443"}"#
        #expect(try json("https://a.example", in: "https://a.example:8443") == samePort)
    }

    @Test("both types of ceremonies include the top origin")
    func ceremonies() throws {
        let top = try Origin("https://shop.example.org")
        for json in [Fixture.creation(), Fixture.request()] {
            let options = try PublicKeyOptions(json: Array(json.utf8))
            let data =
                switch try Ceremony(options, origin: Fixture.origin(), topOrigin: top) {
                case .creation(let ceremony): ceremony.clientData
                case .request(let ceremony): ceremony.clientData
                }
            let members = try Fixture.read(data.json)
            #expect(try members.text("topOrigin") == "https://shop.example.org")
            #expect(members["crossOrigin"] == .boolean(true))
        }
    }
}

@Suite("Registrations")
struct CreationCeremonyTests {
    private let key = P256.Signing.PrivateKey()

    private func ceremony(_ changes: [String: String?] = [:]) throws -> CreationCeremony {
        try CreationCeremony(Fixture.creationOptions(changes), origin: Fixture.origin())
    }

    @Test("the request matches the website's options")
    func request() throws {
        let request = try ceremony(["authenticatorSelection": #"{"residentKey":"preferred"}"#]).ctapRequest
        #expect(request.relyingParty.id.text == "example.com" && request.relyingParty.name == "Example")
        #expect(request.residentKey && request.userVerification)
        #expect(request.algorithms == [.es256, .rs256])
        #expect(try request.clientDataHash == ceremony().clientData.hash)
        #expect(request.extensions == nil)
        #expect(try !ceremony().ctapRequest.residentKey)
        #expect(
            try ceremony(["authenticatorSelection": #"{"userVerification":"discouraged"}"#]).ctapRequest
                .userVerification
        )
    }

    @Test("the website can verify the response")
    func response() throws {
        let ceremony = try ceremony()
        let created = try Fixture.created(key)
        let json = try ceremony.responseJSON(
            from: created,
            phone: Fixture.phone(transports: ["internal", "cable", "internal", "Bad\"\n"])
        )
        let credential = try Fixture.read(json)
        #expect(try credential.base64("id") == [0xCA, 0xFE] && credential.text("rawId") == credential.text("id"))
        #expect(try credential.text("type") == "public-key")
        #expect(try credential.text("authenticatorAttachment") == "cross-platform")
        #expect(try credential.value("clientExtensionResults").entries.isEmpty)
        let response = try credential.value("response")
        #expect(try response.base64("clientDataJSON") == ceremony.clientData.json)
        #expect(try response.list("transports") == [.text("hybrid"), .text("internal")])
        #expect(try response.number("publicKeyAlgorithm") == -7)
        #expect(try response.base64("publicKey") == Array(key.publicKey.derRepresentation))
        #expect(try response.base64("authenticatorData") == created.authenticatorData.encoded)
        let object = try AttestationObject(parsing: response.base64("attestationObject"))
        #expect(object == created.attestationObject)
    }

    @Test(
        "credProps reports the requested value",
        arguments: [
            ("preferred", #"{"credProps":{"rk":true}}"#), ("discouraged", #"{"credProps":{}}"#),
        ]
    )
    func credentialProperties(residentKey: String, expected: String) throws {
        let ceremony = try ceremony([
            "extensions": #"{"credProps":true}"#,
            "authenticatorSelection": "{\"residentKey\":\"\(residentKey)\"}",
        ])
        let json = try ceremony.responseJSON(from: Fixture.created(key), phone: Fixture.phone())
        #expect(String(decoding: json, as: UTF8.self).contains("\"clientExtensionResults\":\(expected)"))
    }

    @Test("credProps does not report what was not requested from this phone", arguments: [true, false])
    func credentialPropertiesByPhone(keepsPasskeys: Bool) throws {
        let ceremony = try Ceremony(
            .creation(
                Fixture.creationOptions([
                    "extensions": #"{"credProps":true}"#,
                    "authenticatorSelection": #"{"residentKey":"preferred"}"#,
                ])
            ),
            origin: Fixture.origin()
        )
        let phone = Fixture.phone(options: ["rk": keepsPasskeys])
        guard case .makeCredential(let asked) = try ceremony.ctapRequest(for: phone) else { throw Fixture.OtherKind() }
        #expect(asked.residentKey == keepsPasskeys)
        let json = try ceremony.responseJSON(body: Fixture.created(key).encoded, phone: phone)
        let expected = keepsPasskeys ? #"{"credProps":{"rk":true}}"# : #"{"credProps":{}}"#
        #expect(String(decoding: json, as: UTF8.self).contains("\"clientExtensionResults\":\(expected)"))
    }

    @Test("attestation that was not requested is removed, and the AAGUID stays")
    func attestation() throws {
        var created = try Fixture.created(key)
        created.format = "packed"
        created.attestationStatement = ["alg": -7, "sig": .bytes([1]), "x5c": [.bytes([2])]]
        func object(_ conveyance: String) throws -> AttestationObject {
            let json = try ceremony(["attestation": "\"\(conveyance)\""]).responseJSON(
                from: created,
                phone: Fixture.phone()
            )
            let credential = try Fixture.read(json)
            return try AttestationObject(parsing: credential.value("response").base64("attestationObject"))
        }
        #expect(try object("direct") == created.attestationObject)
        let none = try object("none")
        #expect(none.format == "none" && none.statement.isEmpty)
        #expect(none.authenticatorData == created.authenticatorData)
    }

    @Test("self attestation with a zero AAGUID stays")
    func selfAttestation() throws {
        var created = try Fixture.created(key)
        created.format = "packed"
        created.attestationStatement = ["alg": -7, "sig": .bytes([1])]
        created.authenticatorData = AuthenticatorData(
            relyingPartyIDHash: created.authenticatorData.relyingPartyIDHash,
            flags: Fixture.flags,
            signatureCount: 0,
            attestedCredential: AttestedCredential(
                aaguid: .zero,
                id: try Fixture.credentialID(),
                publicKey: COSEKey(key.publicKey)
            )
        )
        let credential = try Fixture.read(ceremony().responseJSON(from: created, phone: Fixture.phone()))
        let object = try AttestationObject(parsing: credential.value("response").base64("attestationObject"))
        #expect(object.format == "packed")
    }

    @Test("Ed25519 and RSA keys are converted to SubjectPublicKeyInfo, other keys are omitted")
    func otherKeys() throws {
        func publicKey(_ map: CBORMap, algorithm: Int) throws -> [UInt8]? {
            let ceremony = try ceremony(["pubKeyCredParams": "[{\"type\":\"public-key\",\"alg\":\(algorithm)}]"])
            let response = MakeCredentialResponse(
                authenticatorData: AuthenticatorData(
                    relyingPartyIDHash: ceremony.ctapRequest.relyingParty.id.hash,
                    flags: Fixture.flags,
                    signatureCount: 0,
                    attestedCredential: AttestedCredential(
                        aaguid: .zero,
                        id: try Fixture.credentialID(),
                        publicKey: try COSEKey(parsing: CBOREncoder.encode(map))
                    )
                )
            )
            let members = try Fixture.read(ceremony.responseJSON(from: response, phone: Fixture.phone())).value(
                "response"
            )
            #expect(try members.number("publicKeyAlgorithm") == algorithm)
            return members["publicKey"] == nil ? nil : try members.base64("publicKey")
        }
        let x = [UInt8](repeating: 7, count: 32)
        let ed25519 = try #require(Hexadecimal.bytes("302a300506032b6570032100")) + x
        #expect(try publicKey([1: 1, 3: -8, -1: 6, -2: .bytes(x)], algorithm: -8) == ed25519)
        let modulus = [UInt8](repeating: 0xAB, count: 256)
        let head = "30820122300d06092a864886f70d01010105000382010f003082010a0282010100"
        let rsa = try #require(Hexadecimal.bytes(head)) + modulus + [0x02, 0x03, 0x01, 0x00, 0x01]
        #expect(try publicKey([1: 3, 3: -257, -1: .bytes(modulus), -2: .bytes([1, 0, 1])], algorithm: -257) == rsa)
        #expect(try publicKey([1: 7, 3: -49], algorithm: -49) == nil)
        for (map, algorithm) in [
            ([1: 1, 3: -8, -1: 6, -2: .bytes([1])], -8), ([1: 2, 3: -8, -1: 6, -2: .bytes(x)], -8),
            ([1: 1, 3: -8, -1: 7, -2: .bytes(x)], -8), ([1: 1, 3: -8, -1: 6], -8),
            ([1: 3, 3: -257, -1: .bytes([]), -2: .bytes([1])], -257), ([1: 3, 3: -257, -1: .bytes(modulus)], -257),
            ([1: 3, 3: -257, -1: .bytes(Array(modulus.dropLast())), -2: .bytes([1, 0, 1])], -257),
            ([1: 3, 3: -37, -1: .bytes(modulus), -2: .bytes([])], -37), ([1: 2, 3: -35, -1: 2, -2: .bytes(x)], -35),
            ([1: 2, 3: -36, -1: 3, -2: .bytes(x), -3: .bytes(x)], -36),
        ] as [(CBORMap, Int)] {
            #expect(throws: ResponseCheckError.malformedKey(COSEAlgorithm(rawValue: algorithm))) {
                try publicKey(map, algorithm: algorithm)
            }
        }
        let p384 = [UInt8](repeating: 9, count: 48)
        #expect(try publicKey([1: 2, 3: -35, -1: 2, -2: .bytes(p384), -3: .bytes(p384)], algorithm: -35) == nil)
    }

    @Test("a response to another request is rejected")
    func refused() throws {
        let required = ["authenticatorSelection": #"{"userVerification":"required"}"#]
        let plain = try ceremony()
        #expect(throws: ResponseCheckError.otherRelyingParty) {
            try plain.responseJSON(
                from: Fixture.created(key, relyingParty: "login.example.com"),
                phone: Fixture.phone()
            )
        }
        #expect(throws: ResponseCheckError.userNotPresent) {
            try plain.responseJSON(from: Fixture.created(key, flags: [.userVerified]), phone: Fixture.phone())
        }
        #expect(throws: ResponseCheckError.userNotVerified) {
            try ceremony(required).responseJSON(
                from: Fixture.created(key, flags: [.userPresent]),
                phone: Fixture.phone()
            )
        }
        #expect(throws: Never.self) {
            try plain.responseJSON(from: Fixture.created(key, flags: [.userPresent]), phone: Fixture.phone())
        }
        #expect(throws: ResponseCheckError.contradictoryBackupFlags) {
            try plain.responseJSON(
                from: Fixture.created(key, flags: [.userPresent, .backedUp]),
                phone: Fixture.phone()
            )
        }
        #expect(throws: ResponseCheckError.algorithmNotRequested(.es256)) {
            try ceremony(["pubKeyCredParams": #"[{"type":"public-key","alg":-257}]"#])
                .responseJSON(from: Fixture.created(key), phone: Fixture.phone())
        }
        let assertion = try Fixture.assertion(key, hash: plain.clientData.hash)
        #expect(throws: ResponseCheckError.noNewCredential) {
            try plain.responseJSON(
                from: MakeCredentialResponse(authenticatorData: assertion.authenticatorData),
                phone: Fixture.phone()
            )
        }
    }
}

@Suite("Sign-ins")
struct RequestCeremonyTests {
    private let key = P256.Signing.PrivateKey()
    private let allowed = ["allowCredentials": #"[{"type":"public-key","id":"yv4"}]"#] as [String: String?]

    private func ceremony(_ changes: [String: String?] = [:]) throws -> RequestCeremony {
        try RequestCeremony(Fixture.requestOptions(changes), origin: Fixture.origin())
    }

    @Test("the request matches the website's options, always with user verification")
    func request() throws {
        let request = try ceremony(allowed.merging(["userVerification": "\"discouraged\""]) { $1 }).ctapRequest
        #expect(request.relyingPartyID.text == "example.com")
        #expect(request.userVerification && request.userPresence)
        #expect(request.allowList.map(\.id.bytes) == [[0xCA, 0xFE]])
        #expect(try ceremony(["rpId": nil]).ctapRequest.relyingPartyID.text == "login.example.com")
    }

    @Test("the website can verify the response with its stored key")
    func response() throws {
        let ceremony = try ceremony()
        let assertion = try Fixture.assertion(key, hash: ceremony.ctapRequest.clientDataHash)
        let credential = try Fixture.read(ceremony.responseJSON(from: assertion))
        #expect(try credential.base64("id") == [0xCA, 0xFE] && credential.base64("rawId") == [0xCA, 0xFE])
        #expect(try credential.text("authenticatorAttachment") == "cross-platform")
        let response = try credential.value("response")
        #expect(try response.base64("userHandle") == [9, 8, 7])
        let signed =
            try response.base64("authenticatorData")
            + Array(SHA256.hash(data: response.base64("clientDataJSON")))
        let signature = try P256.Signing.ECDSASignature(derRepresentation: response.base64("signature"))
        #expect(key.publicKey.isValidSignature(signature, for: signed))
        #expect(!key.publicKey.isValidSignature(signature, for: signed + [0]))
    }

    @Test("an omitted credential is the only allowed one")
    func credentialLeftOut() throws {
        let ceremony = try ceremony(allowed)
        var assertion = try Fixture.assertion(key, hash: ceremony.ctapRequest.clientDataHash)
        assertion.credential = nil
        assertion.user = nil
        let credential = try Fixture.read(ceremony.responseJSON(from: assertion))
        #expect(try credential.base64("id") == [0xCA, 0xFE])
        #expect(try credential.value("response")["userHandle"] == nil)
    }

    @Test("a response to another request is rejected")
    func refused() throws {
        let any = try ceremony()
        let hash = any.ctapRequest.clientDataHash
        var assertion = try Fixture.assertion(key, hash: hash)
        #expect(throws: ResponseCheckError.otherRelyingParty) {
            try any.responseJSON(from: Fixture.assertion(key, hash: hash, relyingParty: "example.org"))
        }
        #expect(throws: ResponseCheckError.userNotPresent) {
            try any.responseJSON(from: Fixture.assertion(key, hash: hash, flags: []))
        }
        #expect(throws: ResponseCheckError.userNotVerified) {
            try ceremony(["userVerification": "\"required\""])
                .responseJSON(from: Fixture.assertion(key, hash: hash, flags: [.userPresent]))
        }
        #expect(throws: ResponseCheckError.credentialNotAllowed) {
            try ceremony(["allowCredentials": #"[{"type":"public-key","id":"AAAA"}]"#]).responseJSON(from: assertion)
        }
        assertion.credential = nil
        #expect(throws: ResponseCheckError.noCredential) { try any.responseJSON(from: assertion) }
        let two = #"[{"type":"public-key","id":"yv4"},{"type":"public-key","id":"AAAA"}]"#
        #expect(throws: ResponseCheckError.noCredential) {
            try ceremony(["allowCredentials": two]).responseJSON(from: assertion)
        }
        assertion = try Fixture.assertion(key, hash: hash)
        assertion.user = nil
        #expect(throws: ResponseCheckError.noUserHandle) { try any.responseJSON(from: assertion) }
        assertion = try Fixture.assertion(key, hash: hash)
        assertion.signature = []
        #expect(throws: ResponseCheckError.noSignature) { try any.responseJSON(from: assertion) }
    }
}

@Suite("Ceremonies from end to end")
struct CeremonyTests {
    private let key = P256.Signing.PrivateKey()

    @Test("a registration works with encoded messages")
    func creation() throws {
        let options = try PublicKeyOptions(json: Array(Fixture.creation().utf8))
        let ceremony = try Ceremony(options, origin: Fixture.origin())
        #expect(ceremony.relyingPartyID.text == "example.com")
        guard case .makeCredential = try CTAPRequest(parsing: ceremony.ctapRequest.encoded) else {
            Issue.record("unexpected command")
            return
        }
        let json = try ceremony.responseJSON(
            body: Fixture.created(key).encoded,
            phone: Fixture.phone(transports: ["internal"])
        )
        #expect(try Fixture.read(json).value("response")["attestationObject"] != nil)
    }

    @Test("a sign-in works with encoded messages")
    func request() throws {
        let options = try PublicKeyOptions(json: Array(Fixture.request().utf8))
        let ceremony = try Ceremony(options, origin: Fixture.origin())
        guard case .getAssertion(let request) = try CTAPRequest(parsing: ceremony.ctapRequest.encoded) else {
            Issue.record("unexpected command")
            return
        }
        let body = try Fixture.assertion(key, hash: request.clientDataHash).encoded
        let json = try ceremony.responseJSON(body: body, phone: Fixture.phone())
        #expect(try Fixture.read(json).value("response")["signature"] != nil)
    }

    @Test("an iPhone's published assertion passes all checks")
    func phone() throws {
        let vectors = try VectorFile.load()
        let handshakes = try vectors.list("handshake")
        let phone = try #require(handshakes.first { $0["response_plaintext"] != nil })
        // The response begins with a type byte and a status byte.
        let body = Array(try phone.hex("response_plaintext").dropFirst(2))
        let options = try PublicKeyOptions(json: Array(Fixture.request(["userVerification": "\"required\""]).utf8))
        let ceremony = try Ceremony(options, origin: Fixture.origin())
        let credential = try Fixture.read(ceremony.responseJSON(body: body, phone: Fixture.phone()))
        #expect(try credential.value("response").base64("userHandle").count == 32)
        let elsewhere = try Ceremony(
            PublicKeyOptions(json: Array(Fixture.request(["rpId": nil]).utf8)),
            origin: Fixture.origin()
        )
        #expect(throws: ResponseCheckError.otherRelyingParty) {
            try elsewhere.responseJSON(body: body, phone: Fixture.phone())
        }
    }

    @Test("an origin that is not permitted to use the relying party ID is rejected")
    func wrongOrigin() throws {
        for json in [Fixture.creation(), Fixture.request()] {
            let options = try PublicKeyOptions(json: Array(json.utf8))
            let error = #expect(throws: RelyingPartyIDError.self) {
                try Ceremony(options, origin: Origin("https://evil-example.com"))
            }
            let cause = "https://evil-example.com is not permitted to use the relying party ID example.com; "
            #expect(error?.sentence == cause + "it must be its host or a parent of it")
        }
    }

    @Test("an ID that is no domain name is rejected for that reason")
    func notADomain() throws {
        for id in ["app!.example.com", "App.example.com", "example.com:443"] {
            let options = try PublicKeyOptions(json: Array(Fixture.request(["rpId": "\"\(id)\""]).utf8))
            let error = #expect(throws: RelyingPartyIDError.self) { try Ceremony(options, origin: Fixture.origin()) }
            #expect(error == .notADomain && error?.sentence.contains("lower-case domain name") == true, "\(id)")
        }
    }

    @Test("truncated responses are rejected")
    func truncations() throws {
        let options = try PublicKeyOptions(json: Array(Fixture.creation().utf8))
        let ceremony = try Ceremony(options, origin: Fixture.origin())
        let body = try Fixture.created(key).encoded
        for length in body.indices {
            #expect(throws: ResponseCheckError.malformed(.cbor(.truncated))) {
                try ceremony.responseJSON(body: Array(body.prefix(length)), phone: Fixture.phone())
            }
        }
    }
}
