// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import HybridCTAP
import HybridPrimitives
import HybridSSHAgent
import TestSupport
import Testing

@testable import HybridKeyService

/// Ceremonies of hybrid-key with hybrid-auth, which shows what an SSH key signs.
@Suite("SSH keys in hybrid-auth", .keepsEvidence, SharedEnvironment(), .serialized)
struct SSHKeyTests {
    /// A ceremony with the answer of hybrid-auth and the prompts that its user saw.
    private struct Result {
        let ceremony: CeremonyResult
        let answer: [UInt8]
        let prompts: String
    }

    private func perform(_ command: CeremonyRequest.Command, extra: [String] = []) async throws -> Result {
        let environment = try CeremonyEnvironment.shared()
        let base = "\(environment.folder)/\(UUID().uuidString.prefix(8))"
        let request = CeremonyRequest(command, purpose: "test", seconds: 60)
        try Data(request.encoded).write(to: URL(fileURLWithPath: base + ".request"))
        // The ceremony is canceled at the end of its input, so it holds the other end of its input itself.
        let script = #"mkfifo "$1" && exec 0<>"$1" && cat "$2" >&0 && shift 2 && exec "$@""#
        let key = try environment.start(
            "/bin/sh",
            ["-c", script, "sh", base + ".fifo", base + ".request", BuildFolder.program("hybrid-key")]
                + ["ceremony", "--display", "json"] + environment.network,
            output: base + ".answer"
        )
        let event = try await key.line { $0.contains(#""event":"qr""#) }
        let code = try JSONDecoder().decode(JSONValue.self, from: Data(event.utf8)).text("text")
        let before = environment.pinentryLog.count
        let phone = try environment.startAuthenticator(code, extra: extra)
        let ceremony = CeremonyResult(client: try await key.ending(), authenticator: try await phone.ending())
        return Result(
            ceremony: ceremony,
            answer: Array(FileManager.default.contents(atPath: base + ".answer") ?? Data()),
            prompts: String(environment.pinentryLog.dropFirst(before))
        )
    }

    /// Creates an SSH key and returns it with the prompts that the user saw.
    private func create(_ rp: String? = nil) async throws -> (key: StoredSSHKey, prompts: String) {
        var generator = SystemRandomNumberGenerator()
        let id = rp.flatMap { RelyingPartyID($0, accepting: [.domain, .ssh]) }
        let creation = SSHKeyCreation(
            relyingPartyID: try #require(id ?? SSHKeyCreation.randomRelyingPartyID(using: &generator)),
            comment: try #require(SSHKeyComment("work laptop")),
            allowsForwardedMessages: false,
            using: &generator
        )
        let made = try #require(creation)
        let result = try await perform(.create(made.request))
        try #require(result.ceremony.isSuccess, "\(result.ceremony)")
        return (try made.key(in: result.answer), result.prompts)
    }

    /// Requests a signature.
    ///
    /// - Parameters:
    ///   - data: The data to sign.
    ///   - stated: The data that the request states; `nil` to state none.
    private func sign(
        _ data: [UInt8],
        stating stated: [UInt8]?,
        with key: StoredSSHKey,
        extra: [String] = []
    ) async throws -> Result {
        let hash = try #require(ClientDataHash(bytes: Array(SHA256.hash(data: data))))
        let request = GetAssertionRequest(
            relyingPartyID: key.relyingPartyID,
            clientDataHash: hash,
            allowList: [CredentialDescriptor(id: key.credentialID)],
            extensions: try stated.map { try #require(SignedDataInput(bytes: $0)).extensionInput },
            userVerification: true
        )
        return try await perform(.sign(request), extra: extra)
    }

    private static func string(_ bytes: some Collection<UInt8>) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes
    }

    private static func strings(_ texts: String...) -> [UInt8] { texts.flatMap { string(Array($0.utf8)) } }

    /// Returns the data of a login to a server with an Ed25519 key.
    private static func login(_ user: String, with key: StoredSSHKey, at hostKey: [UInt8]) -> [UInt8] {
        string([UInt8](repeating: 7, count: 32)) + [50]
            + strings(user, "ssh-connection", "publickey-hostbound-v00@openssh.com") + [1]
            + strings(SSHPublicKey.algorithm) + string(key.publicKey.encoded) + string(hostKey)
    }

    private static let hostKey =
        strings("ssh-ed25519") + string(Array(Curve25519.Signing.PrivateKey().publicKey.rawRepresentation))

    @Test("A login shows user, host key and key, and is a signature for SSH")
    func login() async throws {
        let (key, creation) = try await create()
        #expect(creation.contains("SETDESC \(key.relyingPartyID)%0A%0ACreate an SSH key?%0A"), "\(creation)")
        #expect(creation.contains(#"Save an SSH key with this name?%0A"work laptop"%0A"#), "\(creation)")

        let bytes = Self.login("root", with: key, at: Self.hostKey)
        let result = try await sign(bytes, stating: bytes, with: key)
        result.ceremony.expectSuccess()
        let data = try SignedData(parsing: bytes, for: key.publicKey)
        #expect(SSHSigner.signature(in: result.answer, by: key, over: data) != nil)
        guard case .login(let login) = data.content else { return }
        let fingerprint = try #require(login.hostKey).fingerprint
        let text =
            #"%0A%0ALog in to an SSH server as this user?%0A"root"%0AHost key of the server:%0A\#(fingerprint)%0A"#
            + #"With the key:%0A"work laptop"%0A"#
        #expect(result.prompts.contains("SETDESC \(key.relyingPartyID)%0A%0ALog in to an SSH server?%0A"))
        #expect(result.prompts.contains("SETDESC \(key.relyingPartyID)\(text)"), "\(result.prompts)")
    }

    @Test("Data that is not stated, or is not what is signed, is not signed with an SSH key")
    func refused() async throws {
        let (key, _) = try await create()
        let bytes = Self.login("root", with: key, at: Self.hostKey)
        let unstated = try await sign(bytes, stating: nil, with: key)
        #expect(unstated.ceremony.client.status == 77, "\(unstated.ceremony)")
        #expect(unstated.ceremony.authenticator.lastLine.contains("did not say what is to be signed"))
        #expect(unstated.prompts.contains("The other device did not say what is signed."), "\(unstated.prompts)")

        let other = Self.login("ada", with: key, at: Self.hostKey)
        let clientData = Array(#"{"type":"webauthn.get"}"#.utf8)
        for (data, stated, words) in [(bytes, other, "different from what it showed"), (clientData, clientData, "neither")] {
            let result = try await sign(data, stating: stated, with: key)
            #expect(result.ceremony.client.status == 77, "\(result.ceremony)")
            #expect(result.ceremony.authenticator.lastLine.contains(words), "\(result.ceremony)")
            #expect(!result.prompts.contains("GETPIN"), "the user is not asked")
        }
    }

    @Test("A key below ssh: is shown as an SSH key, never as a domain")
    func localService() async throws {
        let (key, creation) = try await create("ssh:example.org")
        #expect(creation.contains(#"SETDESC SSH key%0A"example.org"%0A%0ACreate an SSH key?%0A"#), "\(creation)")
        let message = Array("SSHSIG".utf8) + Self.strings("git", "", "sha256") + Self.string(Array(0..<32))
        let result = try await sign(message, stating: message, with: key)
        result.ceremony.expectSuccess()
        let data = try SignedData(parsing: message, for: key.publicKey)
        #expect(SSHSigner.signature(in: result.answer, by: key, over: data) != nil)
        let text = #"SETDESC SSH key%0A"example.org"%0A%0ASign for git?%0AWith the key:%0A"work laptop"%0A"#
        #expect(result.prompts.contains(text), "\(result.prompts)")
        for prompts in [creation, result.prompts] {
            #expect(!prompts.contains("ssh:") && !prompts.contains("SETDESC example.org"), "\(prompts)")
        }

        let off = try await sign(message, stating: message, with: key, extra: ["--no-local-services"])
        #expect(off.ceremony.client.status == 77 && off.ceremony.authenticator.status != 0, "\(off.ceremony)")
        #expect(!off.prompts.contains("GETPIN"), "the user is not asked")
    }
}
