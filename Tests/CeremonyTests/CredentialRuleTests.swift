// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// The rules of hybrid-auth for credentials, tested with a foreign client that inspects every message and with
/// python-fido2 and py_webauthn as relying parties.
@Suite(
    "Rules for credentials",
    .keepsEvidence,
    SharedEnvironment { environment in
        _ = try await environment.create()
    },
    .serialized
)
struct CredentialRuleTests {
    @Test("packed self attestation is sent on request only", arguments: [["packed"], ["tpm", "packed", "none"]])
    func packed(_ formats: [String]) async throws {
        let environment = try CeremonyEnvironment.shared()
        let made = try await environment.create(user: "packed@example.com", with: ["attestationFormats": formats])
        #expect(made.format == "packed")
        let plain = try await environment.create(user: "packed@example.com", with: ["attestationFormats": ["tpm"]])
        #expect(plain.format == "none")
        // Without a list the client removes the attestation unless the site asked for it.
        let direct = try await environment.create(user: "packed@example.com", with: ["attestation": "direct"])
        #expect(direct.format == "packed")
    }

    @Test("a passkey that is not discoverable is used only if the site names it")
    func notDiscoverable() async throws {
        let environment = try CeremonyEnvironment.shared()
        let made = try await environment.create(
            user: "hidden@example.com",
            with: ["authenticatorSelection": ["residentKey": "discouraged", "userVerification": "required"]]
        )
        let questions = environment.pinentryLog.utf8.count
        _ = try await environment.signIn(for: TestUser(confirms: "pick:ada@example.com"))
        let asked = String(environment.pinentryLog.dropFirst(questions))
        #expect(!asked.contains("hidden@example.com"))
        let named = try await environment.signIn(["--only=\(made.id)"])
        #expect(named.id == made.id)
    }

    @Test("the user selects one of several accounts, and the site learns which")
    func several() async throws {
        let environment = try CeremonyEnvironment.shared()
        let bob = try await environment.create(user: "bob@example.com")
        let eve = try await environment.create(user: "eve@example.com")
        for (name, made) in [("bob@example.com", bob), ("eve@example.com", eve)] {
            let signed = try await environment.signIn(for: TestUser(confirms: "pick:\(name)"))
            #expect(signed.id == made.id)
            #expect(signed.userHandle != nil)
        }
        let log = environment.pinentryLog
        #expect(log.contains("SETDESC example.com%0A%0ASign in as this account? (1 of "))
        #expect(log.contains(#"%0A"bob@example.com"%0A%0AVIRTUAL RADIO"#))
        #expect(log.contains("SETOK Use") && log.contains("SETNOTOK Next") && log.contains("SETCANCEL Decline"))
    }

    @Test("with pinentry-gnome3, which has two buttons, the second one leads to the next account")
    func twoButtons() async throws {
        let environment = try CeremonyEnvironment.shared()
        let made = try await environment.create(user: "first@example.com")
        _ = try await environment.create(user: "second@example.com")
        let questions = environment.pinentryLog.utf8.count
        let user = TestUser(confirms: "pick:\"first@example.com\"", flavor: "gnome3")
        let signed = try await environment.signIn(for: user)
        #expect(signed.id == made.id)
        let unknown = TestUser(confirms: "pick:unknown", flavor: "gnome3")
        let declined = try await environment.runCeremony(try await environment.site("request-options"), unknown)
        #expect(declined.authenticator.status == 77 && declined.authenticator.lastLine.contains("declined"))
        let asked = environment.pinentryLog.utf8.dropFirst(questions)
        let log = String(decoding: Array(asked), as: UTF8.self)
        #expect(log.contains("SETCANCEL Other\u{2026}") && log.contains("\"Other\u{2026}\" shows the next account."))
        #expect(!log.contains("SETNOTOK"))
        #expect(log.contains("This is the last account.") && log.contains("SETCANCEL Decline"))
    }

    @Test("a new passkey of an account replaces the old one, which is named first")
    func replaced() async throws {
        let environment = try CeremonyEnvironment.shared()
        let old = try await environment.create(user: "twice@example.com")
        let before = environment.pinentryLog.utf8.count
        let new = try await environment.create(
            user: "twice@example.com",
            with: ["user": ["name": "thrice@example.com"]]
        )
        let asked = String(environment.pinentryLog.dropFirst(before))
        #expect(asked.contains("Replace the passkey of this account with a new one?"))
        #expect(asked.contains(#"%0A"twice@example.com"%0AThe new one is for%0A"thrice@example.com"%0A"#))
        #expect(asked.contains("SETOK Replace"))
        let gone = try await environment.runAuthenticator(
            ["--inspect"],
            requests: try await environment.site("request-options", ["--only=\(old.id)"])
        )
        #expect(gone.client.status == 0 && gone.client.lastOutput == #"{"status": 46}"#, "\(gone)")
        #expect(try await environment.signIn(["--only=\(new.id)"]).id == new.id)
    }

    @Test("a passkey is found among hundreds of unknown credential IDs of any length")
    func longList() async throws {
        let environment = try CeremonyEnvironment.shared()
        let made = try await environment.create(user: "needle@example.com")
        let signed = try await environment.signIn(["--only=\(made.id)", "--decoys", "400"])
        #expect(signed.id == made.id)
    }

    @Test("prf returns the same for the same salt, at registration and later, and by credential")
    func prf() async throws {
        let environment = try CeremonyEnvironment.shared()
        let (one, two) = (["first": "b25l"], ["first": "dHdv", "second": "b25l"])
        let made = try await environment.create(user: "prf@example.com", with: ["extensions": ["prf": ["eval": one]]])
        #expect(made.prf?.enabled == true)
        let first = try #require(made.prf?.results?["first"])

        let again = try await environment.signIn(["--only=\(made.id)"], with: ["extensions": ["prf": ["eval": one]]])
        #expect(again.prf?.results == ["first": first])
        let own = try await environment.signIn(
            ["--only=\(made.id)"],
            with: ["extensions": ["prf": ["eval": one, "evalByCredential": [made.id: two]]]]
        )
        #expect(own.prf?.results?["second"] == first)
        #expect(own.prf?.results?["first"] != first && own.prf?.results?["first"] != nil)
        let discovered = try await environment.signIn(
            for: TestUser(confirms: "pick:prf@example.com"),
            with: ["extensions": ["prf": ["eval": one]]]
        )
        #expect(discovered.prf?.results == ["first": first])

        // Without a salt, the response says that prf is supported. A passkey created that way supports it, too.
        let plain = try await environment.create(
            user: "plain@example.com",
            with: ["extensions": ["prf": [String: String]()]]
        )
        #expect(plain.prf?.enabled == true && plain.prf?.results == nil)
        let late = try await environment.signIn(["--only=\(plain.id)"], with: ["extensions": ["prf": ["eval": one]]])
        #expect(late.prf?.results?["first"] != nil && late.prf?.results?["first"] != first)
    }

    @Test(
        "a response that the client does not receive is a failure, and no passkey is lost",
        .enabled(if: Inspection.isUnlimited, "only root with CAP_SYS_PTRACE can list the open files of hybrid-auth")
    )
    func responseLost() async throws {
        let environment = try CeremonyEnvironment.shared()
        // A new passkey would replace this one, but the client does not learn of it.
        let old = try await environment.create(user: "lost@example.com")
        let before = environment.confirmations
        let (client, code) = try await environment.startClient(
            try await environment.site("create-options", ["--user", "lost@example.com"])
        )
        let phone = try environment.startAuthenticator(code, TestUser(confirms: "wait"))
        try await environment.untilAsked(moreThan: before)
        // The passkey can't be written before the lock is released, even if the user confirms at once.
        let lock = try StateLock(environment)
        defer { lock.release() }
        try TestFile.write("", to: environment.folder + "/go")
        try await Waiting.until("the vault being written") { lock.isContended }
        client.send(SIGINT)
        #expect(try await client.ending().status == 130)
        try await Waiting.until("the end of the phone's tunnel") {
            !lock.writerIsConnected(to: environment.relay.port)
        }
        lock.release()
        let ended = try await phone.ending()
        #expect(ended.status == 75 && ended.lastLine.contains("disconnected before it received"), "\(ended)")
        #expect(ended.lastLine.contains("the new passkey stays in the vault"), "\(ended)")
        try FileManager.default.removeItem(atPath: environment.folder + "/go")
        try await environment.untilNoAdverts()
        #expect(try await environment.signIn(["--only=\(old.id)"]).id == old.id)
    }
}
