// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Testing

@Suite("What an authenticator says of itself, of failures and of PINs")
struct OtherRequestTests {
    @Test("getInfo tells the truth and asks nobody")
    func info() async throws {
        let desk = try Desk()
        let response = await desk.authenticator.answer(.getInfo)
        #expect(response.status == .success)
        let info = try AuthenticatorInfo(parsing: response.body)
        #expect(info == Authenticator.info)
        #expect(info.versions == ["FIDO_2_0", "FIDO_2_1", "FIDO_2_3"])
        #expect(info.aaguid == Authenticator.aaguid)
        #expect(info.aaguid != .zero)
        #expect(info.options == ["rk": true, "uv": true], "passkeys may be discoverable, every user is verified")
        #expect(info.extensions == ["prf"])
        #expect(info.attestationFormats == ["none", "packed"])
        #expect(info.algorithms == [.es256])
        #expect(info.transports == ["internal", "hybrid"])
        #expect(desk.journal.events == [])
        #expect(await desk.authenticator.fulfilled == 0, "no passkey was used")
        let made = try MakeCredentialResponse(parsing: try await desk.create().body)
        let credential = try #require(made.authenticatorData.attestedCredential)
        #expect(credential.aaguid == info.aaguid)
        #expect(info.algorithms.contains(credential.publicKey.algorithm))
    }

    @Test("selection is not a command here")
    func selection() async throws {
        let desk = try Desk()
        #expect(await desk.authenticator.answer(.selection).encoded == [0x01])
        #expect(desk.journal.events == [])
    }

    @Test("a failure is remembered until a request succeeds")
    func lastFailure() async throws {
        let desk = try Desk()
        #expect(await desk.sign().status == .noCredentials)
        #expect(await desk.authenticator.lastFailure == .noPasskey)
        try desk.known("ada")
        #expect(await desk.sign().status == .success)
        #expect(await desk.authenticator.lastFailure == nil)
        #expect(await desk.authenticator.fulfilled == 1)
    }

    static let failures: [(AuthenticatorFailure, UInt8, String)] = [
        (.declined, 0x27, "declined"), (.userTimedOut, 0x2F, "in time"), (.userUnavailable("S."), 0x27, "S."),
        (.cancelled, 0x2D, "cancelled"), (.wrongPIN, 0x27, "wrong each time"),
        (.lockedOut(seconds: 77), 0x27, "77 seconds"),
        (.noPasskey, 0x2E, "no passkey"), (.alreadyRegistered, 0x19, "already"), (.noSupportedAlgorithm, 0x26, "ES256"),
        (.silentRequest, 0x2B, "consent"), (.storeUnusable("S."), 0x7F, "S."), (.notSaved("S."), 0x28, "S."),
        (.internalFault("S."), 0x7F, "S."),
    ]

    @Test("each failure has its status for the client and its sentence for the person", arguments: 0..<failures.count)
    func statuses(index: Int) {
        let (failure, status, word) = Self.failures[index]
        #expect(failure.ctapStatus.rawValue == status)
        #expect(failure.sentence.contains(word))
    }

    @Test("a PIN has 1 to 255 bytes")
    func lengths() {
        for length in [1, 4, 254, 255] { #expect(PIN.typed(String(repeating: "1", count: length)) != nil) }
        for length in [0, 256, 1_000] { #expect(PIN.typed(String(repeating: "1", count: length)) == nil) }
        #expect(PIN.typed(String(repeating: "é", count: 128)) == nil, "bytes, not letters")
    }

    @Test(
        "a new PIN has 4 letters, whatever their bytes",
        arguments: [("1234", true), ("123", false), ("äöüß", true), ("äöü", false), ("🔑", false), ("🔑🔑🔑🔑", true)]
    )
    func longEnough(text: String, expected: Bool) throws {
        #expect(try #require(PIN.typed(text)).isLongEnough == expected)
    }

    @Test("PINs are compared by their bytes and never shown")
    func comparison() throws {
        let pin = try #require(PIN.typed("24681357"))
        #expect(pin == PIN.typed("24681357"))
        for other in ["24681356", "2468135", "246813570", "14681357"] { #expect(pin != PIN.typed(other)) }
        #expect(pin.withUnsafeBytes { Array($0) } == Array("24681357".utf8))
        var dumped = ""
        dump(pin, to: &dumped)
        for text in ["\(pin)", String(reflecting: pin), "\([pin])", dumped] { #expect(!text.contains("2468")) }
    }

    @Test("a passkey is never shown")
    func hiddenPasskey() throws {
        let desk = try Desk()
        let passkey = try desk.known("ada")
        var dumped = ""
        dump(passkey, to: &dumped)
        for text in ["\(passkey)", String(reflecting: passkey), dumped] {
            #expect(!text.contains("ada") && !text.contains("example"))
        }
    }
}
