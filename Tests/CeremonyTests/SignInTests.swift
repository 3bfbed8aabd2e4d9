// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// Ceremonies between hybrid-client and hybrid-auth over the virtual radio, with python-fido2 and py_webauthn as relying
/// parties.
///
/// `scripts/test` creates the Python environment. Without it these tests fail, because they would prove nothing.
@Suite("Whole ceremonies", .keepsEvidence, .serialized)
struct SignInTests {
    @Test("a passkey is registered, then used with and without a list of credentials")
    func registerAndSignIn() async throws {
        try await CeremonyEnvironment.run { environment in
            let made = try await environment.runCeremony(try await environment.site("create-options"))
            #expect(made.client.status == 0, "\(made.client)")
            #expect(made.authenticator.status == 0, "\(made.authenticator)")
            let verdict = try await environment.site("verify-creation", input: made.client.output)
            #expect(
                verdict.contains(#""format": "none""#) && verdict.contains(#""transports": ["hybrid", "internal"]"#)
            )
            #expect(verdict.contains(#""deviceType": "multi_device", "backedUp": false, "count": 0"#))
            #expect(made.client.output.split(separator: "\n").count == 1, "standard output has the response only")

            let discovered = try await environment.runCeremony(try await environment.site("request-options"))
            discovered.expectSuccess()
            #expect(try await !environment.site("verify-request", input: discovered.client.output).contains("null"))

            let listed = try await environment.runCeremony(try await environment.site("request-options", ["--allow"]))
            listed.expectSuccess()
            try await environment.site("verify-request", input: listed.client.output)

            for ending in [made.client, made.authenticator, discovered.client, discovered.authenticator] {
                #expect(ending.errors.contains("VIRTUAL RADIO: no proximity proof"))
            }
            let asked = environment.pinentryLog
            #expect(
                asked.contains("SETDESC example.com%0A%0ACreate a passkey for this site?"),
                "line 1 is the RP ID only"
            )
            #expect(asked.contains("VIRTUAL RADIO: no proximity proof"))
            #expect(!asked.contains("Example%0A"), "the name that the site gives itself is not shown")
            try await environment.untilNoAdverts()
        }
    }

    @Test("an excluded account is not registered twice, and the user learns it before the site")
    func excluded() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let before = environment.passkeys()
            let again = try await environment.runCeremony(try await environment.site("create-options", ["--exclude"]))
            #expect(again.client.status == 77 && again.authenticator.status == 77, "\(again)")
            #expect(again.client.lastLine.contains("has a passkey for this account"))
            #expect(environment.pinentryLog.contains("This device already has a passkey for this site"))
            #expect(environment.passkeys() == before)
            try await environment.untilNoAdverts()
        }
    }

    @Test("a refusal, a wrong PIN and a missing passkey are reported as such and change nothing")
    func refusals() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let before = environment.passkeys()

            let declined = try await environment.runCeremony(
                try await environment.site("request-options"),
                TestUser(confirms: "no")
            )
            #expect(declined.client.status == 77 && declined.client.lastLine.contains("declined"), "\(declined.client)")
            #expect(declined.authenticator.status == 77 && declined.authenticator.lastLine.contains("declined"))

            let wrong = try await environment.runCeremony(
                try await environment.site("request-options"),
                TestUser(pin: "not it")
            )
            #expect(wrong.client.status == 77 && wrong.client.lastLine.contains("declined"), "the client can't tell")
            #expect(wrong.authenticator.status == 77 && wrong.authenticator.lastLine.contains("PIN was wrong"))

            let foreign = #"{"publicKey": {"rpId": "other.example", "challenge": "AAAAAAAAAAAAAAAAAAAAAA"}}"#
            let other = try await environment.runCeremony(foreign, origin: "https://other.example")
            let (asked, answered) = (other.client, other.authenticator)
            #expect(asked.status == 77 && asked.lastLine.contains("no passkey for other.example"), "\(asked)")
            #expect(answered.status == 77 && answered.lastLine.contains("no passkey"), "\(answered)")

            #expect(environment.passkeys() == before)
            try await environment.untilNoAdverts()
            let after = try await environment.runCeremony(try await environment.site("request-options"))
            #expect(after.client.status == 0, "the vault still works: \(after)")
        }
    }

    @Test("a signal after the response is printed ends the wait for the relay, but not with a failure")
    func lateSignal() async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let muted = environment.folder + "/muted"
            let proxy = try await environment.proxy(["--lead-to", "\(environment.relay.port)", "--mute", muted])
            for signal in [SIGINT, SIGTERM] {
                let asked = environment.confirmations
                let (client, code) = try await environment.startClient(
                    try await environment.site("request-options"),
                    network: environment.trust,
                    variables: CeremonyEnvironment.variables(proxy)
                )
                let phone = try environment.startAuthenticator(code, TestUser(confirms: "wait"))
                try await environment.untilAsked(moreThan: asked)
                // From now on the relay receives nothing, so the client waits two seconds for its close frame.
                try TestFile.write("", to: muted)
                try TestFile.write("", to: environment.folder + "/go")
                try await Waiting.until("the response", evidence: client.errors) { !client.output.isEmpty }
                client.send(signal)
                let ending = try await client.ending()
                #expect(ending.status == 0, "\(ending)")
                try await environment.site("verify-request", input: ending.output)
                _ = try await phone.ending()
                for file in [muted, environment.folder + "/go"] { try FileManager.default.removeItem(atPath: file) }
                try await environment.untilNoAdverts()
            }
        }
    }

    @Test(
        "when the client closes, the prompt on the phone is closed, and a later confirmation has no effect",
        arguments: [SIGINT, SIGKILL],
        ["request-options", "create-options"]
    )
    func cancelled(signal: Int32, command: String) async throws {
        try await CeremonyEnvironment.run { environment in
            try await environment.registerPasskey()
            let before = environment.passkeys()
            let asked = environment.confirmations
            let (client, code) = try await environment.startClient(try await environment.site(command))
            // The user confirms after the end of the tunnel.
            let phone = try environment.startAuthenticator(code, TestUser(confirms: "wait"))
            try await environment.untilAsked(moreThan: asked)
            // The advert is withdrawn as soon as the client has proved that it received it.
            try await environment.untilNoAdverts(within: .zero)
            client.send(signal)
            // After SIGKILL there is no meaningful status.
            let status = try await client.ending().status
            #expect(signal == SIGKILL || status == 130)
            let ended = try await phone.ending()
            let cause = signal == SIGINT ? "cancelled" : "or the relay disconnected"
            #expect(ended.status == 75 && ended.lastLine.contains("the other device \(cause)"), "\(ended)")
            try TestFile.write("", to: environment.folder + "/go")
            #expect(environment.passkeys() == before)
            try await environment.untilNoAdverts()
        }
    }
}
