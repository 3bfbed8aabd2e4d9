// SPDX-License-Identifier: Apache-2.0

import Crypto
import Glibc
import HybridCTAP
import HybridPrimitives
import HybridSSHAgent
import HybridThreads
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
            let phone = AuthenticatorInfo(
                versions: [],
                extensions: extensions,
                aaguid: .zero,
                options: [:],
                transports: []
            )
            #expect(read.ctapRequest(for: phone) == expected)
        }
    }

    @Test("The largest data fits a request")
    func largestData() throws {
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

@Suite("Creation of keys")
struct KeyCreationTests {
    let id: RelyingPartyID
    let creation: SSHKeyCreation
    let key = P256.Signing.PrivateKey()

    init() throws {
        var generator = SystemRandomNumberGenerator()
        id = try #require(SSHKeyCreation.randomRelyingPartyID(using: &generator))
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

@Suite("Processes of a ceremony", .timeLimit(.minutes(5)))
struct LauncherTests {
    private func perform(
        _ child: String,
        prompt: String? = nil,
        cancellation: SigningCancellation? = nil,
        seconds: Int = 100,
        isLocked: Bool = false,
        in folder: TestFolder
    ) async throws -> CeremonyOutcome {
        let program = folder.path + "/child"
        try await TestFile.writeProgram("#!/bin/sh\n" + child, to: program)
        var display = CeremonyDisplay.terminal
        if let prompt {
            try await TestFile.writeProgram("#!/bin/sh\n" + prompt, to: folder.path + "/prompt")
            display = .prompt(path: folder.path + "/prompt")
        }
        let launcher = CeremonyLauncher(
            command: [program],
            isLocked: { isLocked },
            display: { [display] in display }
        )
        let request = CeremonyRequest(try CeremonyRequestTests().request.command, purpose: "p", seconds: seconds)
        return await DedicatedThread.run {
            launcher.perform(request, event: #"{"event":"request"}"#, cancellation: cancellation)
        }
    }

    @Test("The response is what the child writes; the prompt reads the request, then the child's progress")
    func response() async throws {
        try await TestFolder.with { folder in
            let outcome = try await perform(
                "echo progress \"$@\" >&2; head -c 4 >/dev/null; printf '\\060answer'",
                prompt: "cat >\(folder.path)/seen.new; mv \(folder.path)/seen.new \(folder.path)/seen",
                in: folder
            )
            #expect(outcome == .answered(Array("0answer".utf8)))
            try await Waiting.until("the prompt to end") { !TestFile.text(folder.path + "/seen").isEmpty }
            #expect(TestFile.text(folder.path + "/seen") == "{\"event\":\"request\"}\nprogress --display json\n")
        }
    }

    @Test("The exit status of the child is the reason of a failure, even with an answer")
    func failure() async throws {
        try await TestFolder.with { folder in
            for (child, expected) in [
                ("exit 77", CeremonyOutcome.failed(.notPermitted)), ("printf xy; exit 69", .failed(.unavailable)),
                ("printf x; exit 69", .refused(CTAPStatus(rawValue: UInt8(ascii: "x")), .unavailable)),
                ("kill -9 $$", .failed(.software)), ("true", .failed(.software)),
            ] {
                let outcome = try await perform(child, in: folder)
                #expect(outcome == expected, "\(child)")
            }
        }
    }

    @Test("A cancel by the prompt ends the child's input, and the child")
    func cancelByPrompt() async throws {
        try await TestFolder.with { folder in
            let child = "cat >/dev/null; touch \(folder.path)/ended; exit 130"
            let outcome = try await perform(child, prompt: "read line; echo cancel; cat >/dev/null", in: folder)
            #expect(outcome == .cancelled)
            #expect(TestFile.contents(below: folder.path).keys.contains("ended"))
        }
    }

    @Test("The end of the prompt ends the ceremony; other answers do not")
    func endOfPrompt() async throws {
        try await TestFolder.with { folder in
            let child = "cat >/dev/null; exit 130"
            let first = try await perform(child, prompt: "exit 0", in: folder)
            #expect(first == .failed(.unavailable))
            let file = folder.path + "/said"
            let answers = "echo proceed; echo cancelled; echo show-code; touch \(file); cat >/dev/null"
            let other = "while ! [ -e \(file) ]; do sleep 0.01; done; printf x"
            let second = try await perform(other, prompt: answers, in: folder)
            #expect(second == .answered(Array("x".utf8)))
        }
    }

    @Test("The user's wish for a code, or to use the linked phone, reaches the child as one byte")
    func codeRequest() async throws {
        try await TestFolder.with { folder in
            let request = CeremonyRequest(try CeremonyRequestTests().request.command, purpose: "p", seconds: 100)
            let length = request.encoded.count
            let child = "head -c \(length) >/dev/null; head -c 1"
            for (answer, byte) in [("show-code", CeremonyRequest.showCode), ("proceed", CeremonyRequest.usePhone)] {
                let outcome = try await perform(child, prompt: "echo \(answer); cat >/dev/null", in: folder)
                #expect(outcome == .answered([byte]))
            }
        }
    }

    @Test("A prompt that ends after the answer does not take it back")
    func endOfPromptAfterAnswer() async throws {
        try await TestFolder.with { folder in
            let child = "printf x; echo done >&2; sleep 0.5"
            let outcome = try await perform(child, prompt: "read request; read done; exit 0", in: folder)
            #expect(outcome == .answered(Array("x".utf8)))
        }
    }

    @Test("A client that has left ends child and prompt")
    func cancellation() async throws {
        try await TestFolder.with { folder in
            let cancellation = try #require(SigningCancellation())
            let ready = folder.path + "/ready"
            async let outcome = perform(
                "cat >/dev/null; exit 130",
                prompt: "trap 'touch \(folder.path)/ended; exit' TERM; touch \(ready); while :; do sleep 0.05; done",
                cancellation: cancellation,
                in: folder
            )
            try await Waiting.until("the prompt to start") {
                TestFile.contents(below: folder.path).keys.contains("ready")
            }
            cancellation.cancel()
            let ending = try await outcome
            #expect(ending == .cancelled)
            try await Waiting.until("the prompt to end") {
                TestFile.contents(below: folder.path).keys.contains("ended")
            }
        }
    }

    @Test("While the session is locked, neither a prompt nor a ceremony is started")
    func locked() async throws {
        try await TestFolder.with { folder in
            for isLocked in [true, false] {
                let outcome = try await perform(
                    "touch \(folder.path)/contacted; printf x",
                    prompt: "touch \(folder.path)/opened; cat >/dev/null",
                    isLocked: isLocked,
                    in: folder
                )
                #expect(outcome == (isLocked ? .sessionLocked : .answered(Array("x".utf8))))
                #expect(TestFile.contents(below: folder.path).keys.contains("contacted") != isLocked)
            }
            try await Waiting.until("the prompt") { TestFile.contents(below: folder.path).keys.contains("opened") }
        }
    }

    @Test("One window is open at a time; a further request waits for its turn, its client or its time limit")
    func turns() async throws {
        try await TestFolder.with { _ in
            let launcher = CeremonyLauncher(command: ["/bin/true"]) { .page }
            let first = try launcher.open(event: "", unless: nil)
            #expect(throws: WindowRefusal.timedOut) {
                _ = try launcher.open(event: "", unless: nil, within: .milliseconds(1))
            }
            let cancellation = try #require(SigningCancellation())
            cancellation.cancel()
            #expect(throws: WindowRefusal.withdrawn) { _ = try launcher.open(event: "", unless: cancellation) }
            async let second = DedicatedThread.run {
                guard let window = try? launcher.open(event: "", unless: nil) else { return false }
                defer {
                    launcher.leave(window)
                    launcher.leave(window)
                }
                let third = try? launcher.open(event: "", unless: nil, within: .milliseconds(1))
                return third == nil
            }
            launcher.leave(first)
            let hadTurn = await second
            #expect(hadTurn)
            launcher.leave(try launcher.open(event: "", unless: nil, within: .zero))
            // A window that is dropped gives its turn back, too.
            _ = try launcher.open(event: "", unless: nil, within: .zero)
            _ = try launcher.open(event: "", unless: nil, within: .zero)
        }
    }

    @Test("A prompt that ignores SIGTERM is killed")
    func stubbornPrompt() async throws {
        try await TestFolder.with { folder in
            let cancellation = try #require(SigningCancellation())
            let ready = folder.path + "/ready"
            async let outcome = perform(
                "cat >/dev/null; exit 130",
                prompt: """
                    trap '' TERM; echo $$ >\(ready).new; mv \(ready).new \(ready)
                    for i in $(seq 2400); do sleep 0.05; done
                    """,
                cancellation: cancellation,
                in: folder
            )
            try await Waiting.until("the prompt to start") { !TestFile.text(ready).isEmpty }
            let prompt = try #require(pid_t(TestFile.text(ready).dropLast()))
            cancellation.cancel()
            let ending = try await outcome
            #expect(ending == .cancelled)
            try await Waiting.until("the prompt to be gone") { kill(prompt, 0) != 0 }
        }
    }

    @Test("Too long a response is none")
    func longResponse() async throws {
        try await TestFolder.with { folder in
            let count = CeremonyLauncher.maximumResponse + 1
            let outcome = try await perform("head -c \(count) /dev/zero", in: folder)
            #expect(outcome != .answered([UInt8](repeating: 0, count: count)))
        }
    }

    @Test("The prompt of the settings comes first, then the one on the path, then the page")
    func displays() async throws {
        try await TestFolder.with { folder in
            #expect(CeremonyDisplay.graphical(prompt: "/p", searchPath: folder.path) == .prompt(path: "/p"))
            #expect(CeremonyDisplay.graphical(prompt: nil, searchPath: folder.path) == .page)
            let path = folder.path + "/hybrid-prompt"
            try await TestFile.writeProgram("#!/bin/sh\n", to: path)
            #expect(CeremonyDisplay.graphical(prompt: nil, searchPath: "x:\(folder.path)") == .prompt(path: path))
            #expect(CeremonyDisplay.graphical(prompt: nil, searchPath: nil) == .page)
        }
    }
}
