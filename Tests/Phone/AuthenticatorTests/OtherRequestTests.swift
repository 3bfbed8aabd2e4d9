// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Testing

@Suite("getInfo, failures and PINs")
struct OtherRequestTests {
    @Test("getInfo is correct and does not ask the user")
    func info() async throws {
        let fixture = try AuthenticatorFixture()
        let response = await fixture.authenticator.answer(.getInfo)
        #expect(response.status == .success)
        let info = try AuthenticatorInfo(parsing: response.body)
        #expect(info == Authenticator.info)
        #expect(info.versions == ["FIDO_2_0", "FIDO_2_1", "FIDO_2_3"])
        #expect(info.aaguid == Authenticator.aaguid)
        #expect(info.aaguid != .zero)
        #expect(info.options == ["rk": true, "uv": true], "discoverable passkeys, verified users")
        #expect(info.extensions == ["prf", "signedData", "credProtect"])
        #expect(info.attestationFormats == ["none", "packed"])
        #expect(info.algorithms == [.es256, .esp256])
        #expect(info.transports == ["internal", "hybrid"])
        #expect(fixture.log.events == [])
        #expect(await fixture.authenticator.fulfilledCount == 0, "no passkey was used")
        let made = try MakeCredentialResponse(parsing: try await fixture.create().body)
        let credential = try #require(made.authenticatorData.attestedCredential)
        #expect(credential.aaguid == info.aaguid)
        #expect(info.algorithms.contains(credential.publicKey.algorithm))
    }

    @Test("authenticatorSelection is not supported")
    func selection() async throws {
        let fixture = try AuthenticatorFixture()
        #expect(await fixture.authenticator.answer(.selection).encoded == [0x01])
        #expect(fixture.log.events == [])
    }

    @Test("The last failure is kept until a request succeeds")
    func lastFailure() async throws {
        let fixture = try AuthenticatorFixture()
        #expect(await fixture.sign().status == .noCredentials)
        #expect(await fixture.authenticator.lastFailure == .noPasskey)
        try fixture.addPasskey("ada")
        #expect(await fixture.sign().status == .success)
        #expect(await fixture.authenticator.lastFailure == nil)
        #expect(await fixture.authenticator.fulfilledCount == 1)
    }

    static let failures: [(AuthenticatorFailure, UInt8, String)] = [
        (.declined, 0x27, "declined"), (.userTimedOut, 0x2F, "in time"), (.userUnavailable("S."), 0x27, "S."),
        (.cancelled, 0x2D, "cancelled"), (.wrongPIN, 0x27, "wrong each time"),
        (.lockedOut(seconds: 77), 0x27, "77 seconds"), (.tooManyRequests, 0x27, "3 requests, 6 prompts"),
        (.noPasskey, 0x2E, "no passkey"), (.alreadyRegistered, 0x19, "already"), (.noSupportedAlgorithm, 0x26, "ES256"),
        (.signedDataMissing, 0x2E, "did not say"), (.signedDataMismatch, 0x02, "different from what it showed"),
        (.signedDataUnrecognized, 0x02, "neither"), (.noSSHApplication, 0x02, "SSH"),
        (.secretNotRequested, 0x14, "not for its secret"),
        (.silentRequest, 0x2B, "consent"), (.storeUnusable("S."), 0x7F, "S."), (.notSaved("S."), 0x28, "S."),
        (.internalFault("S."), 0x7F, "S."),
    ]

    @Test("Each failure has a CTAP status and a sentence", arguments: 0..<failures.count)
    func statuses(index: Int) {
        let (failure, status, word) = Self.failures[index]
        #expect(failure.ctapStatus.rawValue == status)
        #expect(failure.sentence.contains(word))
    }

    @Test("A PIN has 1 to 255 bytes")
    func lengths() {
        for length in [1, 4, 254, 255] { #expect(PIN.typed(String(repeating: "1", count: length)) != nil) }
        for length in [0, 256, 1_000] { #expect(PIN.typed(String(repeating: "1", count: length)) == nil) }
        #expect(PIN.typed(String(repeating: "é", count: 128)) == nil, "the limit counts bytes")
    }

    @Test(
        "A new PIN has at least 4 code points",
        arguments: [("1234", true), ("123", false), ("äöüß", true), ("äöü", false), ("🔑", false), ("🔑🔑🔑🔑", true)]
    )
    func longEnough(text: String, expected: Bool) throws {
        #expect(try #require(PIN.typed(text)).isLongEnough == expected)
    }

    @Test("PINs are compared by bytes and never printed")
    func comparison() throws {
        let pin = try #require(PIN.typed("24681357"))
        #expect(pin == PIN.typed("24681357"))
        for other in ["24681356", "2468135", "246813570", "14681357"] { #expect(pin != PIN.typed(other)) }
        #expect(pin.withUnsafeBytes { Array($0) } == Array("24681357".utf8))
        var dumped = ""
        dump(pin, to: &dumped)
        for text in ["\(pin)", String(reflecting: pin), "\([pin])", dumped] { #expect(!text.contains("2468")) }
    }

    @Test("A passkey is never printed")
    func hiddenPasskey() throws {
        let fixture = try AuthenticatorFixture()
        let passkey = try fixture.addPasskey("ada")
        var dumped = ""
        dump(passkey, to: &dumped)
        for text in ["\(passkey)", String(reflecting: passkey), dumped] {
            #expect(!text.contains("ada") && !text.contains("example"))
        }
    }
}
