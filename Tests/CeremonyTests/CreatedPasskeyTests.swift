// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridCTAP
import HybridKeyService
import HybridPrimitives
import TestSupport
import Testing

/// Sign-ins with passkeys whose public keys the computer knows, because they were created through it.
@Suite("Passkeys that were created through this computer", .keepsEvidence, SharedEnvironment(), .serialized)
struct CreatedPasskeyTests {
    private static let condition = "only if the website accepted this sign-in"

    /// Starts `show-qr --link` for a sign-in with a passkey, and a phone that offers a link.
    ///
    /// - Parameters:
    ///   - id: The ID of the passkey in base64url.
    ///   - prefix: A command that starts the program.
    private func start(
        _ id: String,
        under prefix: [String] = [],
        input: String? = nil,
        output: String? = nil
    ) async throws -> (client: RunningProgram, phone: RunningProgram) {
        let environment = try CeremonyEnvironment.shared()
        let request = environment.folder + "/link-\(UUID().uuidString.prefix(8)).json"
        let options = """
            {"publicKey": {"rpId": "example.com", "challenge": "AAAAAAAAAAAAAAAAAAAAAA", \
            "allowCredentials": [{"type": "public-key", "id": "\(id)"}]}}
            """
        try TestFile.write(options, to: request)
        let line =
            prefix + [BuildFolder.program("hybrid-client"), "show-qr", "--request", request]
            + ["--origin", CeremonyEnvironment.origin, "--link", "--json"] + environment.network
        let client = try environment.start(line[0], Array(line.dropFirst()), input: input, output: output)
        let code = try await environment.code(of: client)
        return (client, try environment.startAuthenticator(code, extra: ["--link-as", "work laptop"]))
    }

    private func link(_ id: String) async throws -> CeremonyResult {
        let (client, phone) = try await start(id, input: "no\n")
        return CeremonyResult(client: try await client.ending(), authenticator: try await phone.ending())
    }

    /// Creates a passkey for a website; returns its ID in base64url.
    private func create(user: String) async throws -> String {
        let creation = """
            {"publicKey": {"rp": {"id": "example.com", "name": "x"}, "challenge": "AAAAAAAAAAAAAAAAAAAAAA", \
            "user": {"id": "\(user)", "name": "ada", "displayName": "Ada"}, \
            "pubKeyCredParams": [{"type": "public-key", "alg": -7}]}}
            """
        let made = try await CeremonyEnvironment.shared().runCeremony(creation)
        made.expectSuccess()
        #expect(!made.client.errors.contains("passkey-created"), "no phone was named")
        return try JSONDecoder().decode(JSONValue.self, from: Data(made.client.lastOutput.utf8)).text("id")
    }

    @Test("The computer verifies such a sign-in itself; with a damaged file, only the website can")
    func evidence() async throws {
        let environment = try CeremonyEnvironment.shared()
        let id = try await create(user: "AQ")
        for evidence in ["verified", "website"] {
            let result = try await link(id)
            result.expectSuccess()
            let events = try result.client.events()
            let offer = try #require(events.first { $0["notice"] == "link-offer" }, "\(result)")
            #expect(offer["evidence"] == .text(evidence), "\(result)")
            #expect(try offer.text("message").contains(Self.condition) == (evidence == "website"), "\(result)")
            #expect(events.contains { $0["notice"] == "link-skipped" } == (evidence == "website"), "\(result)")
            try TestFile.write("damaged", to: environment.folder + "/state/hybrid/links/created-passkeys")
        }
        try FileManager.default.removeItem(atPath: environment.folder + "/state/hybrid/links/created-passkeys")
    }

    @Test("The computer also knows the passkeys that its security key has created")
    func securityKey() async throws {
        let site = try #require(RelyingPartyID("example.com"))
        let request = MakeCredentialRequest(
            clientDataHash: try #require(ClientDataHash(bytes: [UInt8](repeating: 7, count: 32))),
            relyingParty: RelyingPartyEntity(id: site, name: "x"),
            user: UserEntity(id: try #require(UserHandle(bytes: [2])), name: "eve", displayName: "Eve"),
            algorithms: [.es256],
            residentKey: true,
            userVerification: true
        )
        let (made, answer) = try await CeremonyEnvironment.shared().performKeyCeremony(.create(request))
        made.expectSuccess()
        #expect(answer?.phone == nil)
        let response = try CTAPResponse(parsing: try #require(answer).response)
        let data = try MakeCredentialResponse(parsing: response.body).authenticatorData
        let id = try #require(data.attestedCredential).id
        let result = try await link(Base64URL.encode(id.bytes))
        result.expectSuccess()
        let offer = try result.client.events().first { $0["notice"] == "link-offer" }
        #expect(offer?["evidence"] == "verified", "\(result)")
    }

    @Test("The website gets the whole response before the user has answered the question")
    func order() async throws {
        let environment = try CeremonyEnvironment.shared()
        let (output, input) = (environment.folder + "/response", environment.folder + "/answer")
        // Programs that read until the end get the response only when all writing ends are closed.
        let script = #"mkfifo "$1" && exec 0<>"$1" && exec >"$2" && shift 2 && exec "$@""#
        let pipe = try await SpawnedProcess(["/usr/bin/mkfifo", output]).end()
        try #require(pipe == 0)
        let website = try environment.start("/bin/sh", ["-c", #"exec cat <"$1""#, "sh", output])
        let id = try await create(user: "Aw")
        let (client, phone) = try await start(id, under: ["/bin/sh", "-c", script, "sh", input, output])
        let received = try await website.ending()
        #expect(received.output.contains("rawId"), "\(client.errors)")
        #expect(!client.errors.contains("not-linked"), "the question is still open: \(client.errors)")
        _ = try await client.line { $0.contains("link-offer") }
        let answer = try #require(FileHandle(forWritingAtPath: input))
        try answer.write(contentsOf: Data("yes\n".utf8))
        let result = CeremonyResult(client: try await client.ending(), authenticator: try await phone.ending())
        result.expectSuccess()
        #expect(try result.client.events().contains { $0["state"] == "linked" }, "\(result)")
    }
}
