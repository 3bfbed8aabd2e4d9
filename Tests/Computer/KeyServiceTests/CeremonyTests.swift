// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridCTAP
import HybridPrimitives
import HybridProgram
import HybridSSHAgent
import SSHTestSupport
import TestSupport
import Testing

@testable import HybridKeyService

@Suite("Requests to the process of a ceremony")
struct CeremonyRequestTests {
    let request: CeremonyRequest

    init() throws {
        let command = GetAssertionRequest(
            relyingPartyID: try #require(RelyingPartyID("key.example.org")),
            clientDataHash: try #require(ClientDataHash(bytes: [UInt8](repeating: 7, count: 32))),
            allowList: [CredentialDescriptor(id: try #require(CredentialID(bytes: [1, 2, 3])))],
            userVerification: true
        )
        request = CeremonyRequest(.sign(command), purpose: "log in as \"ada\"", seconds: 100)
    }

    @Test("A request survives its encoding")
    func roundTrip() throws {
        let bytes = request.encoded
        let length = try #require(CeremonyRequest.length(header: Array(bytes.prefix(CeremonyRequest.headerLength))))
        #expect(length == bytes.count - CeremonyRequest.headerLength)
        #expect(CeremonyRequest(parsing: Array(bytes.dropFirst(CeremonyRequest.headerLength))) == request)
    }

    @Test("The data to be signed is sent only to a phone that knows the extension")
    func signedData() throws {
        guard case .sign(var command) = request.command else { return }
        let plain = CTAPRequest.getAssertion(command)
        command.extensions = try #require(SignedDataInput(bytes: [1, 2, 3])).extensionInput
        let stated = CeremonyRequest(.sign(command), purpose: "p", seconds: 1)
        let read = try #require(CeremonyRequest(parsing: Array(stated.encoded.dropFirst(4))))
        #expect(read == stated)
        for (extensions, expected) in [(["signedData"], CTAPRequest.getAssertion(command)), (["prf"], plain)] {
            let adapted = try read.ctapRequest(for: Self.phone(extensions))
            #expect(adapted == expected)
        }
    }

    private static func phone(_ extensions: [String]) -> AuthenticatorInfo {
        AuthenticatorInfo(versions: [], extensions: extensions, aaguid: .zero, options: [:], transports: [])
    }

    @Test("A request for a secret is not sent to a phone that has none")
    func secrets() throws {
        let other = CeremonyRequest(request.command, purpose: "p", seconds: 1, needsSecret: true)
        let read = try #require(CeremonyRequest(parsing: Array(other.encoded.dropFirst(4))))
        #expect(read == other && read.needsSecret)
        let failure = #expect(throws: CommandFailure.self) { _ = try read.ctapRequest(for: Self.phone([])) }
        #expect(failure?.code == "no-prf")
        let adapted = try read.ctapRequest(for: Self.phone(["prf"]))
        #expect(adapted == request.command.ctapRequest)
    }

    @Test("An iPhone whose version may change its results is named when a key is created, and no other phone")
    func oldPhone() throws {
        let bytes = try #require(Hexadecimal.bytes("f24a8e70d0d3f82c293732523cc4de5a"))
        let id = try #require(AAGUID(bytes: bytes))
        let creation = MakeCredentialRequest(
            clientDataHash: .init(checked: [UInt8](repeating: 0, count: 32)),
            relyingParty: RelyingPartyEntity(id: request.relyingPartyID, name: "x"),
            user: UserEntity(id: try #require(UserHandle(bytes: [1])), name: "x", displayName: "x"),
            algorithms: [.es256],
            residentKey: true,
            userVerification: true
        )
        func warning(
            _ aaguid: AAGUID,
            _ command: CeremonyRequest.Command,
            _ isNew: Bool,
            secret: Bool = true
        ) -> String? {
            let phone = AuthenticatorInfo(versions: [], aaguid: aaguid, options: [:], transports: [])
            let request = CeremonyRequest(command, purpose: "p", seconds: 1, needsSecret: secret)
            return request.warning(of: phone, presentsCredentials: isNew)
        }
        #expect(warning(id, .create(creation), false)?.contains("iOS 18.4") == true)
        #expect(warning(id, .create(creation), true) == nil)
        #expect(warning(.zero, .create(creation), false) == nil)
        #expect(warning(id, request.command, false) == nil)
        #expect(warning(id, .create(creation), false, secret: false) == nil)
    }

    @Test("The largest data that the agent accepts is stated, and fits a request")
    func largestData() throws {
        #expect(SignedData.maximumLength == SignedDataInput.maximumLength)
        guard case .sign(var command) = request.command else { return }
        let data = [UInt8](repeating: 1, count: SignedDataInput.maximumLength)
        command.extensions = try #require(SignedDataInput(bytes: data)).extensionInput
        command.allowList = [
            CredentialDescriptor(
                id: try #require(CredentialID(bytes: [UInt8](repeating: 1, count: CredentialID.maximumLength)))
            )
        ]
        let large = CeremonyRequest(.sign(command), purpose: String(repeating: "p", count: 4096), seconds: 1)
        #expect(CeremonyRequest.length(header: Array(large.encoded.prefix(4))) != nil)
        #expect(CeremonyRequest(parsing: Array(large.encoded.dropFirst(4))) == large)
    }

    @Test("Lengths out of range, cut and extended requests are refused")
    func damage() {
        for header: [UInt8] in [[0, 0, 0, 0], [0, 1, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 1]] {
            #expect(CeremonyRequest.length(header: header) == nil)
        }
        let map = Array(request.encoded.dropFirst(CeremonyRequest.headerLength))
        for count in 0..<map.count { #expect(CeremonyRequest(parsing: Array(map.prefix(count))) == nil) }
        #expect(CeremonyRequest(parsing: map + [0]) == nil)
    }

    @Test("Only sign-ins and registrations are performed, within the time limits")
    func commands() {
        for bytes: [UInt8] in [
            // {1: h'04', 2: "", 3: 1}: getInfo.
            [0xA3, 1, 0x41, 4, 2, 0x60, 3, 1],
            // No map.
            [0x80],
        ] {
            #expect(CeremonyRequest(parsing: bytes) == nil)
        }
        let named = CeremonyRequest(request.command, purpose: "", seconds: 1, phone: "Pixel 8")
        #expect(CeremonyRequest(parsing: Array(named.encoded.dropFirst(4))) == named)
        for (isForGuest, hasAgreed) in [(true, false), (true, true), (false, true)] {
            let other = CeremonyRequest(
                request.command,
                purpose: "",
                seconds: 1,
                isForGuest: isForGuest,
                hasAgreed: hasAgreed
            )
            #expect(CeremonyRequest(parsing: Array(other.encoded.dropFirst(4))) == other)
            #expect(other.needsConsent == (isForGuest && !hasAgreed))
        }
        let long = CeremonyRequest(request.command, purpose: "", seconds: 1, phone: String(repeating: "x", count: 256))
        #expect(CeremonyRequest(parsing: Array(long.encoded.dropFirst(4))) == nil)
        for seconds in [0, 3601] {
            let other = CeremonyRequest(request.command, purpose: "", seconds: seconds)
            #expect(CeremonyRequest(parsing: Array(other.encoded.dropFirst(4))) == nil)
        }
    }
}

@Suite("Answers of ceremonies")
struct CeremonyAnswerTests {
    @Test("An answer names the linked phone, or none if a phone has scanned the code")
    func roundTrip() {
        for phone in ["Pixel 8", "Mädchentelefon", nil] {
            let answer = CeremonyAnswer(response: [0, 1], phone: phone)
            #expect(CeremonyAnswer(parsing: answer.encoded) == answer)
            let verified = CeremonyAnswer(response: [0, 1], phone: phone, isVerified: true)
            #expect(CeremonyAnswer(parsing: verified.encoded) == verified)
            #expect(verified != answer)
        }
    }

    @Test("An answer without a response, or with a damaged name, is none")
    func malformed() {
        for bytes: [UInt8] in [[], [0], [1], [1, 65], [2, 65, 0], [1, 0xFF, 0]] {
            #expect(CeremonyAnswer(parsing: bytes) == nil, "\(bytes)")
        }
    }
}

@Suite("Failures of ceremonies")
struct CeremonyFailureTests {
    private let failure = CommandFailure(
        "no passkey for shop.example (NotAllowedError)",
        code: "no-passkey",
        status: .notPermitted,
        details: ["webauthn_error": "NotAllowedError"]
    )

    @Test(
        "Code and sentence survive the encoding, without the exception of a browser",
        arguments: [nil, CTAPStatus.noCredentials]
    )
    func roundTrip(refusal: CTAPStatus?) throws {
        let sent = CeremonyFailure(failure, refusal: refusal)
        #expect(sent.failure.sentence == "no passkey for shop.example" && sent.failure.code == "no-passkey")
        #expect(CeremonyFailure(parsing: sent.encoded, status: .notPermitted) == sent)
    }

    @Test("Damaged failures are none")
    func damage() {
        let whole = CeremonyFailure(failure).encoded
        for bytes in [[], [0], [0, 0], [0, 0, 65], Array(whole.prefix(12)), [0, 1, 65, 66], [0, 1, 97, 0xFF]] {
            #expect(CeremonyFailure(parsing: bytes, status: .notPermitted) == nil, "\(bytes)")
        }
    }

    @Test("The journal names the cause, the log does not name the website")
    func texts() throws {
        let failure = CeremonyFailure(failure).failure
        #expect(failure.journalResult == "failed: no passkey for shop.example (no-passkey)")
        let id = try #require(RelyingPartyID("shop.example"))
        #expect(failure.logSentence(without: id) == "no passkey for this request")
        #expect(CommandFailure("it was declined", code: "declined", status: .notPermitted).journalResult == "declined")
    }
}

@Suite("Creation of keys")
struct KeyCreationTests {
    let id: RelyingPartyID
    let creation: SSHKeyCreation
    let key = P256.Signing.PrivateKey()

    init() throws {
        var generator = SystemRandomNumberGenerator()
        id = try #require(RelyingPartyID.random(prefix: "ssh-", using: &generator))
        let comment = try #require(SSHKeyComment("work"))
        creation = try #require(
            SSHKeyCreation(
                relyingPartyID: id,
                comment: comment,
                allowsForwardedMessages: false,
                using: &generator
            )
        )
    }

    private func answer(
        _ id: RelyingPartyID,
        flags: AuthenticatorData.Flags = [.userPresent, .userVerified]
    ) throws
        -> [UInt8]
    {
        let data = AuthenticatorData(
            relyingPartyIDHash: id.hash,
            flags: flags,
            signatureCount: 0,
            attestedCredential: AttestedCredential(
                aaguid: .zero,
                id: try #require(CredentialID(bytes: [9])),
                publicKey: COSEKey(key.publicKey)
            )
        )
        return CTAPResponse.success(MakeCredentialResponse(authenticatorData: data).encoded).encoded
    }

    @Test("Each key has a relying party ID and a user ID of its own")
    func identifiers() throws {
        let other = try KeyCreationTests()
        #expect(id.text.hasSuffix(".invalid") && id != other.id)
        #expect(creation.request.user.id.bytes.count == 32)
        #expect(creation.request.user.id != other.creation.request.user.id)
        #expect(creation.request.signedDataKind == .ssh)
        #expect(!creation.request.relyingParty.name.isEmpty && !creation.request.user.displayName.isEmpty)
    }

    @Test("A key can have a name below ssh: instead of a domain")
    func localName() throws {
        var generator = SystemRandomNumberGenerator()
        let id = try #require(RelyingPartyID("ssh:work", accepting: [.ssh]))
        let comment = try #require(SSHKeyComment("work"))
        let created = SSHKeyCreation(
            relyingPartyID: id,
            comment: comment,
            allowsForwardedMessages: false,
            using: &generator
        )
        let creation = try #require(created)
        let stored = try creation.key(in: try answer(id))
        #expect(stored.relyingPartyID == id && "\(stored.publicKey.application)" == "ssh:work")
        #expect(try SSHKeyList.keys(in: Array(SSHKeyList.text([stored]).utf8)) == [stored])
        let command = CeremonyRequest(.create(creation.request), purpose: "p", seconds: 1)
        #expect(CeremonyRequest(parsing: Array(command.encoded.dropFirst(4))) == command)
    }

    @Test("The key is that of the phone's answer, which must be for this request")
    func answers() throws {
        let stored = try creation.key(in: try answer(id))
        #expect(stored.publicKey.x963Representation == Array(key.publicKey.x963Representation))
        #expect(stored.relyingPartyID == id && stored.credentialID.bytes == [9])
        let others = [
            try answer(try #require(RelyingPartyID("example.org"))), try answer(id, flags: [.userVerified]),
            CTAPResponse.failure(.operationDenied).encoded, [],
        ]
        for bytes in others { #expect(throws: KeyCreationError.notAKey) { try creation.key(in: bytes) } }
    }

    @Test("A key of a phone that did not verify its user is refused")
    func userVerification() throws {
        let bytes = try answer(id, flags: [.userPresent])
        #expect(throws: KeyCreationError.userNotVerified) { try creation.key(in: bytes) }
    }
}

@Suite("Signatures in the phone's answer")
struct AnswerTests {
    @Test("The request states the data whose hash is to be signed")
    func request() throws {
        let passkey = try TestPasskey()
        let key = try storedKey(passkey)
        let data = try SignedData(parsing: try passkey.login(TestServer.session(1)), for: passkey.publicKey)
        let request = try #require(SSHSigner.command(for: data, with: key))
        let stated = try #require(request.signedData)
        #expect(stated.bytes == data.bytes && stated.matches(request.clientDataHash))
        #expect(request.relyingPartyID == key.relyingPartyID && request.userVerification)
        #expect(request.allowList.map(\.id) == [key.credentialID])
    }

    @Test("Only an assertion by the key, over the data, with its credential ID is a signature")
    func signatures() throws {
        let passkey = try TestPasskey()
        let key = try storedKey(passkey)
        let bytes = try passkey.login(TestServer.session(1))
        let data = try SignedData(parsing: bytes, for: passkey.publicKey)
        func answer(_ signed: [UInt8], credential: [UInt8]?, status: CTAPStatus = .success) throws -> [UInt8] {
            let assertion = try passkey.assertion(signed)
            let id = try credential.map { CredentialDescriptor(id: try #require(CredentialID(bytes: $0))) }
            let response = GetAssertionResponse(
                credential: id,
                authenticatorData: try AuthenticatorData(parsing: assertion.authenticatorData),
                signature: assertion.der
            )
            return CTAPResponse(status: status, body: response.encoded).encoded
        }
        let id = key.credentialID.bytes
        for good in [try answer(bytes, credential: id), try answer(bytes, credential: nil)] {
            #expect(SSHSigner.signature(in: good, by: key, over: data) != nil)
        }
        let bad = [
            try answer(bytes + [0], credential: id), try answer(bytes, credential: [7]),
            try answer(bytes, credential: id, status: .operationDenied), [], [0],
        ]
        for bytes in bad { #expect(SSHSigner.signature(in: bytes, by: key, over: data) == nil) }
        let other = try storedKey(try TestPasskey())
        #expect(SSHSigner.signature(in: try answer(bytes, credential: id), by: other, over: data) == nil)
    }
}
