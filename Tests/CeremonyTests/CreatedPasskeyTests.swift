// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Sign-ins with passkeys whose public keys hybrid-client knows, because they were created through it.
@Suite("Passkeys that were created through this computer", .keepsEvidence, SharedEnvironment())
struct CreatedPasskeyTests {
    private static let creation = """
        {"publicKey": {"rp": {"id": "example.com", "name": "x"}, "challenge": "AAAAAAAAAAAAAAAAAAAAAA", \
        "user": {"id": "AQ", "name": "ada", "displayName": "Ada"}, \
        "pubKeyCredParams": [{"type": "public-key", "alg": -7}]}}
        """

    @Test("The computer verifies such a sign-in itself; with a damaged file, only the website can")
    func evidence() async throws {
        let environment = try CeremonyEnvironment.shared()
        let made = try await environment.runCeremony(Self.creation)
        made.expectSuccess()
        let id = try JSONDecoder().decode(JSONValue.self, from: Data(made.client.lastOutput.utf8)).text("id")
        let request = environment.folder + "/link.json"
        let options = """
            {"publicKey": {"rpId": "example.com", "challenge": "AAAAAAAAAAAAAAAAAAAAAA", \
            "allowCredentials": [{"type": "public-key", "id": "\(id)"}]}}
            """
        try TestFile.write(options, to: request)
        for evidence in ["verified", "website"] {
            let client = try environment.start(
                "hybrid-client",
                ["show-qr", "--request", request, "--origin", CeremonyEnvironment.origin, "--link", "--json"]
                    + environment.network,
                input: "no\n"
            )
            let event = try await client.line { $0.contains(#""event":"qr""#) }
            let code = try JSONDecoder().decode(JSONValue.self, from: Data(event.utf8)).text("text")
            let phone = try environment.startAuthenticator(code, extra: ["--link-as", "work laptop"])
            let result = CeremonyResult(client: try await client.ending(), authenticator: try await phone.ending())
            result.expectSuccess()
            let events = try result.client.events()
            let offer = try #require(events.first { $0["notice"] == "link-offer" }, "\(result)")
            #expect(offer["evidence"] == .text(evidence), "\(result)")
            #expect(events.contains { $0["notice"] == "link-skipped" } == (evidence == "website"), "\(result)")
            try TestFile.write("damaged", to: environment.folder + "/state/hybrid/links/created-passkeys")
        }
    }
}
