// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridWebAuthn
import Testing

@Suite("Names of browser exceptions")
struct ErrorNameTests {
    @Test(
        "of requests",
        arguments: [
            // JSON.parse().
            ("{", WebAuthnErrorName.syntaxError),
            // Web IDL: required members and types.
            (Fixture.request(["challenge": nil]), .typeError), (Fixture.creation(["user": "[]"]), .typeError),
            // §5.1.8: bytes that are not base64url.
            (Fixture.request(["challenge": "\"A=\""]), .encodingError),
            // §5.1.3, step 6: the length of user.id.
            (Fixture.creation(["user": #"{"id":"","name":"","displayName":""}"#]), .typeError),
            // §5.1.3, step 10: only unknown types.
            (Fixture.creation(["pubKeyCredParams": #"[{"type":"future","alg":-7}]"#]), .notSupportedError),
            // §5.1.3, step 24: no authenticator has that attachment.
            (
                Fixture.creation(["authenticatorSelection": #"{"authenticatorAttachment":"platform"}"#]),
                .notAllowedError
            ),
            // §5.1.4, step 21: no authenticator has such a credential.
            (Fixture.request(["allowCredentials": #"[{"id":"AA","type":"future"}]"#]), .notAllowedError),
        ]
    )
    func requests(json: String, name: WebAuthnErrorName) {
        #expect(optionsError(json)?.name == name)
    }

    @Test("of origins and relying party IDs")
    func origins() throws {
        #expect(OriginError.insecure.name == .securityError && OriginError.ipAddress.name == .securityError)
        #expect(OriginError.notAnOrigin.name == .typeError)
        #expect(RelyingPartyIDError.notADomain.name == .securityError)
        #expect(try RelyingPartyIDError.publicSuffix(#require(RelyingPartyID("co.uk"))).name == .securityError)
    }

    /// All named statuses and some unknown ones (CTAP 2.3 §8.2, WebAuthn Level 3 §5.1.3, §5.1.4, §6.3.2, §6.3.3).
    static let statuses: [(UInt8, WebAuthnErrorName)] = [
        (0x01, .notSupportedError), (0x02, .unknownError), (0x03, .unknownError), (0x04, .unknownError),
        (0x05, .notAllowedError), (0x06, .unknownError), (0x0A, .unknownError), (0x0B, .unknownError),
        (0x11, .unknownError), (0x12, .unknownError), (0x14, .unknownError), (0x15, .unknownError),
        (0x17, .unknownError), (0x18, .constraintError), (0x19, .invalidStateError), (0x21, .unknownError),
        (0x22, .notAllowedError), (0x23, .unknownError), (0x24, .unknownError), (0x25, .unknownError),
        (0x26, .notSupportedError), (0x27, .notAllowedError), (0x28, .constraintError), (0x2A, .unknownError),
        (0x2B, .constraintError), (0x2C, .constraintError), (0x2D, .notAllowedError), (0x2E, .notAllowedError),
        (0x2F, .notAllowedError), (0x30, .notAllowedError), (0x31, .notAllowedError), (0x32, .notAllowedError),
        (0x33, .notAllowedError), (0x34, .notAllowedError), (0x35, .notAllowedError), (0x36, .notAllowedError),
        (0x37, .notAllowedError), (0x39, .unknownError), (0x3A, .notAllowedError), (0x3B, .notAllowedError),
        (0x3C, .notAllowedError), (0x3D, .unknownError), (0x3E, .notSupportedError), (0x3F, .notAllowedError),
        (0x40, .notAllowedError), (0x7F, .unknownError),
        (0x1A, .unknownError), (0x80, .unknownError), (0xDF, .unknownError), (0xE0, .unknownError),
        (0xEF, .unknownError), (0xF0, .unknownError), (0xFF, .unknownError),
    ]

    @Test("of statuses", arguments: statuses)
    func status(byte: UInt8, name: WebAuthnErrorName) {
        #expect(CTAPStatus(rawValue: byte).webAuthnError == name)
    }

    @Test("all named statuses are tested, and their meanings differ")
    func everyStatus() {
        let known = CTAPStatus.known.filter { $0 != .success }
        #expect(Set(known.map(\.rawValue)).isSubset(of: Self.statuses.map(\.0)))
        #expect(Set(known.map(\.meaning)).count == known.count)
        // The description of an unnamed byte contains its range and its number.
        #expect("\(CTAPStatus(rawValue: 0x80))" == "the phone reported an unknown error (CTAP 0x80)")
        #expect("\(CTAPStatus(rawValue: 0xE3))" == "an extension failed (CTAP 0xE3)")
        #expect("\(CTAPStatus(rawValue: 0xF0))" == "a vendor-specific error (CTAP 0xF0)")
    }

    @Test("of unusable responses")
    func answers() {
        #expect(ResponseCheckError.userNotVerified.name == .notAllowedError)
        #expect(ResponseCheckError.otherRelyingParty.name == .notReadableError)
    }
}

@Suite("Requirements for phones")
struct AbilityTests {
    private func phone(
        extensions: [String] = [],
        options: [String: Bool] = ["rk": true, "uv": true],
        algorithms: [COSEAlgorithm] = [],
        formats: [String] = []
    ) -> AuthenticatorInfo {
        AuthenticatorInfo(
            versions: ["FIDO_2_0"],
            extensions: extensions,
            aaguid: .zero,
            options: options,
            transports: [],
            algorithms: algorithms,
            attestationFormats: formats
        )
    }

    private func missing(_ changes: [String: String?], _ phone: AuthenticatorInfo) throws -> MissingAbility? {
        let ceremony = try Ceremony(.creation(Fixture.creationOptions(changes)), origin: Fixture.origin())
        do throws(MissingAbility) {
            _ = try ceremony.ctapRequest(for: phone)
            return nil
        } catch {
            return error
        }
    }

    private func selection(_ text: String) -> [String: String?] { ["authenticatorSelection": text] }

    @Test("a requirement that the phone lacks is reported before its user is asked")
    func lacks() throws {
        let required = selection(#"{"residentKey":"required","userVerification":"required"}"#)
        #expect(try missing(required, phone()) == nil)
        // An unknown value is not rejected.
        #expect(try missing(required, phone(options: [:])) == nil)
        #expect(try missing(required, phone(options: ["rk": false])) == .discoverablePasskeys)
        #expect(try missing(required, phone(options: ["uv": false])) == .userVerification)
        #expect(try missing([:], phone(algorithms: [.edDSA])) == .algorithms)
        #expect(try missing([:], phone(algorithms: [.edDSA, .rs256])) == nil)
        let blob = ["extensions": #"{"largeBlob":{"support":"required"}}"#] as [String: String?]
        #expect(try missing(blob, phone()) == .largeBlobs)
        #expect(try missing(blob, phone(extensions: ["largeBlob"])) == nil)
        let signIn = try Ceremony(
            .request(Fixture.requestOptions(["userVerification": "\"required\""])),
            origin: Fixture.origin()
        )
        #expect(throws: MissingAbility.userVerification) { try signIn.ctapRequest(for: phone(options: ["uv": false])) }
        #expect(MissingAbility.algorithms.name == .notSupportedError)
        #expect(MissingAbility.largeBlobs.name == .constraintError)
    }

    @Test("preferences are sent only to phones that support them")
    func likes() throws {
        func request(_ changes: [String: String?], _ phone: AuthenticatorInfo) throws -> MakeCredentialRequest {
            try CreationCeremony(Fixture.creationOptions(changes), origin: Fixture.origin()).ctapRequest(for: phone)
        }
        let preferred = selection(#"{"residentKey":"preferred"}"#)
        #expect(try request(preferred, phone()).residentKey)
        #expect(try !request(preferred, phone(options: ["rk": false])).residentKey)
        #expect(try !request(selection(#"{"residentKey":"discouraged"}"#), phone()).residentKey)
        let wish = ["attestation": "\"direct\"", "attestationFormats": #"["packed"]"#] as [String: String?]
        #expect(try request(wish, phone(formats: ["none"])).attestationFormats == ["packed"])
        #expect(try request(wish, phone()).attestationFormats.isEmpty)
        let unwanted = ["attestationFormats": #"["packed"]"#] as [String: String?]
        #expect(try request(unwanted, phone(formats: ["packed"])).attestationFormats.isEmpty)
    }

    @Test(
        "timeouts are limited to 10 seconds to 10 minutes",
        arguments: [
            ("0", 10_000), ("-5", 10_000), ("10001", 10_001), ("60000", 60_000), ("600001", 600_000),
            ("9007199254740992", 600_000),
        ]
    )
    func timeout(asked: String, milliseconds: Int) throws {
        for json in [Fixture.creation(["timeout": asked]), Fixture.request(["timeout": asked])] {
            let ceremony = try Ceremony(PublicKeyOptions(json: Array(json.utf8)), origin: Fixture.origin())
            #expect(ceremony.timeout == .milliseconds(milliseconds))
        }
        #expect(try Ceremony(.request(Fixture.requestOptions()), origin: Fixture.origin()).timeout == nil)
    }
}
