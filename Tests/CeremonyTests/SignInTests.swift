// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// Whole ceremonies between the real programs over the virtual radio, judged by python-fido2 and py_webauthn.
///
/// `scripts/test` makes the Python environment. Without it these tests fail, because they would prove nothing.
@Suite("Whole ceremonies", .keepsEvidence, .serialized)
struct SignInTests {
    @Test("a passkey is registered, then used with and without a list of credentials")
    func registerAndSignIn() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            let made = try await stage.perform(try await site.run("create-options"))
            #expect(made.client.status == 0, "\(made.client)")
            #expect(made.authenticator.status == 0, "\(made.authenticator)")
            let verdict = try await site.run("verify-creation", input: made.client.output)
            #expect(
                verdict.contains(#""format": "none""#) && verdict.contains(#""transports": ["hybrid", "internal"]"#)
            )
            #expect(verdict.contains(#""deviceType": "multi_device", "backedUp": false, "count": 0"#))
            #expect(made.client.output.split(separator: "\n").count == 1, "standard output carries the answer alone")

            let discovered = try await stage.perform(try await site.run("request-options"))
            #expect(discovered.client.status == 0 && discovered.authenticator.status == 0, "\(discovered)")
            #expect(try await !site.run("verify-request", input: discovered.client.output).contains("null"))

            let listed = try await stage.perform(try await site.run("request-options", ["--allow"]))
            #expect(listed.client.status == 0 && listed.authenticator.status == 0, "\(listed)")
            try await site.run("verify-request", input: listed.client.output)

            for ending in [made.client, made.authenticator, discovered.client, discovered.authenticator] {
                #expect(ending.errors.contains("VIRTUAL RADIO: no proximity proof"))
            }
            let asked = Person.log(stage)
            #expect(asked.contains("SETDESC example.com%0A%0ACreate a passkey for this site?"), "RP ID alone on line 1")
            #expect(asked.contains("VIRTUAL RADIO: no proximity proof"))
            #expect(!asked.contains("Example%0A"), "the site's own name for itself is never shown")
            try await stage.expectSilence()
        }
    }

    @Test("an excluded account is not registered twice, and the site learns it after the user")
    func excluded() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let before = stage.passkeys()
            let again = try await stage.perform(try await site.run("create-options", ["--exclude"]))
            #expect(again.client.status == 77 && again.authenticator.status == 77, "\(again)")
            #expect(again.client.lastLine.contains("has a passkey for this account"))
            #expect(Person.log(stage).contains("There is a passkey for this site already"))
            #expect(stage.passkeys() == before)
            try await stage.expectSilence()
        }
    }

    @Test("a refusal, a wrong PIN and a missing passkey end as what they are and change nothing")
    func refusals() async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let before = stage.passkeys()

            let declined = try await stage.perform(
                try await site.run("request-options"),
                Person(confirms: "no")
            )
            #expect(declined.client.status == 77 && declined.client.lastLine.contains("declined"), "\(declined.client)")
            #expect(declined.authenticator.status == 77 && declined.authenticator.lastLine.contains("declined"))

            let wrong = try await stage.perform(try await site.run("request-options"), Person(pin: "not it"))
            #expect(wrong.client.status == 77 && wrong.client.lastLine.contains("declined"), "the client can't tell")
            #expect(wrong.authenticator.status == 77 && wrong.authenticator.lastLine.contains("PIN was wrong"))

            let foreign = #"{"publicKey": {"rpId": "other.example", "challenge": "AAAAAAAAAAAAAAAAAAAAAA"}}"#
            let (client, code) = try await stage.startClient(foreign, origin: "https://other.example")
            let phone = try stage.startAuthenticator(code)
            let (asked, answered) = (try await client.ending(), try await phone.ending())
            #expect(asked.status == 77 && asked.lastLine.contains("no passkey for other.example"), "\(asked)")
            #expect(answered.status == 77 && answered.lastLine.contains("no passkey"), "\(answered)")

            #expect(stage.passkeys() == before)
            try await stage.expectSilence()
            let after = try await stage.perform(try await site.run("request-options"))
            #expect(after.client.status == 0, "the vault still works: \(after)")
        }
    }

    @Test(
        "when the desktop goes away, the question on the phone is taken down, and a yes comes too late",
        arguments: [SIGINT, SIGKILL],
        ["request-options", "create-options"]
    )
    func cancelled(signal: Int32, command: String) async throws {
        try await Stage.set { stage in
            let site = RelyingParty(stage)
            try await stage.register(site)
            let before = stage.passkeys()
            let asked = Person.log(stage).components(separatedBy: "CONFIRM").count
            let (client, code) = try await stage.startClient(try await site.run(command))
            // The person would agree as soon as they may, which is when everything is over.
            let phone = try stage.startAuthenticator(code, Person(confirms: "wait"))
            try await Waiting.until("the question", within: .seconds(60)) {
                Person.log(stage).components(separatedBy: "CONFIRM").count > asked
            }
            // The advert has done its work as soon as the client has proved that it heard it.
            try await stage.expectSilence(within: .zero)
            client.send(signal)
            // A signal that ends it itself says nothing of a status here.
            let status = try await client.ending(within: .seconds(60)).status
            #expect(signal == SIGKILL || status == 130)
            let ended = try await phone.ending(within: .seconds(60))
            let told = signal == SIGINT ? "cancelled" : "went away"
            #expect(ended.status == 75 && ended.lastLine.contains("the other device \(told)"), "\(ended)")
            try Data().write(to: URL(fileURLWithPath: stage.folder + "/go"))
            #expect(stage.passkeys() == before)
            try await stage.expectSilence()
        }
    }
}
