// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// hybrid-auth's rules for credentials, one by one, against a desktop that is not ours and inspects every answer;
/// python-fido2 and py_webauthn verify what comes of them.
@Suite(
    "Rules for credentials",
    .keepsEvidence,
    SharedStage { props in
        _ = try await props.create()
    },
    .serialized
)
struct CredentialRuleTests {
    @Test("packed self attestation is given to who wishes for it", arguments: [["packed"], ["tpm", "packed", "none"]])
    func packed(_ wish: [String]) async throws {
        let props = try SharedStage.take()
        let made = try await props.create(user: "packed@example.com", with: ["attestationFormats": wish])
        #expect(made.format == "packed")
        let plain = try await props.create(user: "packed@example.com", with: ["attestationFormats": ["tpm"]])
        #expect(plain.format == "none")
        // Without a list it is the desktop that takes it away, unless the site asked for it.
        let direct = try await props.create(user: "packed@example.com", with: ["attestation": "direct"])
        #expect(direct.format == "packed")
    }

    @Test("a passkey that need not be discoverable answers only who names it")
    func notDiscoverable() async throws {
        let props = try SharedStage.take()
        let made = try await props.create(
            user: "hidden@example.com",
            with: ["authenticatorSelection": ["residentKey": "discouraged", "userVerification": "required"]]
        )
        let questions = Person.log(props.stage).utf8.count
        _ = try await props.signIn(for: Person(confirms: "pick:ada@example.com"))
        let asked = String(Person.log(props.stage).dropFirst(questions))
        #expect(!asked.contains("hidden@example.com"))
        let named = try await props.signIn(["--only=\(made.id)"])
        #expect(named.id == made.id)
    }

    @Test("of several accounts the person takes one, and the site learns which")
    func several() async throws {
        let props = try SharedStage.take()
        let bob = try await props.create(user: "bob@example.com")
        let eve = try await props.create(user: "eve@example.com")
        for (name, made) in [("bob@example.com", bob), ("eve@example.com", eve)] {
            let signed = try await props.signIn(for: Person(confirms: "pick:\(name)"))
            #expect(signed.id == made.id)
            #expect(signed.userHandle != nil)
        }
        let log = Person.log(props.stage)
        #expect(log.contains("SETDESC example.com%0A%0ASign in as this account? (1 of "))
        #expect(log.contains(#"%0A"bob@example.com"%0A%0AVIRTUAL RADIO"#))
        #expect(log.contains("SETOK Use") && log.contains("SETNOTOK Next") && log.contains("SETCANCEL Decline"))
    }

    @Test("an account's new passkey takes the place of the old, which is named first")
    func replaced() async throws {
        let props = try SharedStage.take()
        let old = try await props.create(user: "twice@example.com")
        let before = Person.log(props.stage).utf8.count
        let new = try await props.create(user: "twice@example.com", with: ["user": ["name": "thrice@example.com"]])
        let asked = String(Person.log(props.stage).dropFirst(before))
        #expect(asked.contains("Replace the passkey of this account by a new one?"))
        #expect(asked.contains(#"%0A"twice@example.com"%0AThe new one is for%0A"thrice@example.com"%0A"#))
        #expect(asked.contains("SETOK Replace"))
        let gone = try await props.hybridAuth(
            ["--inspect"],
            asking: try await props.workshop.site("request-options", ["--only=\(old.id)"])
        )
        #expect(gone.desktop.status == 0 && gone.desktop.lastOutput == #"{"status": 46}"#, "\(gone)")
        #expect(try await props.signIn(["--only=\(new.id)"]).id == new.id)
    }

    @Test("a passkey is found among hundreds of strange ones of any length")
    func longList() async throws {
        let props = try SharedStage.take()
        let made = try await props.create(user: "needle@example.com")
        let signed = try await props.signIn(["--only=\(made.id)", "--decoys", "400"])
        #expect(signed.id == made.id)
    }

    @Test("prf answers the same for the same salt, at creation and after, and by credential")
    func prf() async throws {
        let props = try SharedStage.take()
        let (one, two) = (["first": "b25l"], ["first": "dHdv", "second": "b25l"])
        let made = try await props.create(user: "prf@example.com", with: ["extensions": ["prf": ["eval": one]]])
        #expect(made.prf?.enabled == true)
        let first = try #require(made.prf?.results?["first"])

        let again = try await props.signIn(["--only=\(made.id)"], with: ["extensions": ["prf": ["eval": one]]])
        #expect(again.prf?.results == ["first": first])
        let own = try await props.signIn(
            ["--only=\(made.id)"],
            with: ["extensions": ["prf": ["eval": one, "evalByCredential": [made.id: two]]]]
        )
        #expect(own.prf?.results?["second"] == first)
        #expect(own.prf?.results?["first"] != first && own.prf?.results?["first"] != nil)
        let discovered = try await props.signIn(
            for: Person(confirms: "pick:prf@example.com"),
            with: ["extensions": ["prf": ["eval": one]]]
        )
        #expect(discovered.prf?.results == ["first": first])

        // Asked for nothing, it says whether it can; a passkey made without the wish can as well.
        let plain = try await props.create(user: "plain@example.com", with: ["extensions": ["prf": [String: String]()]])
        #expect(plain.prf?.enabled == true && plain.prf?.results == nil)
        let late = try await props.signIn(["--only=\(plain.id)"], with: ["extensions": ["prf": ["eval": one]]])
        #expect(late.prf?.results?["first"] != nil && late.prf?.results?["first"] != first)
    }

    @Test("an answer that was made but not heard is not taken for success, and costs no passkey")
    func answerLost() async throws {
        let props = try SharedStage.take()
        let stage = props.stage
        // What the desktop never hears of would have taken this one's place.
        let old = try await props.create(user: "lost@example.com")
        let before = Person.log(stage).components(separatedBy: "CONFIRM").count
        let (client, code) = try await stage.startClient(
            try await props.workshop.site("create-options", ["--user", "lost@example.com"])
        )
        let phone = try stage.startAuthenticator(code, Person(confirms: "wait"))
        try await Waiting.until("the question", within: .seconds(60)) {
            Person.log(stage).components(separatedBy: "CONFIRM").count > before
        }
        // The passkey can't be written before this is released, however early the person agrees.
        let lock = try StateLock(stage)
        defer { lock.release() }
        try Data().write(to: URL(fileURLWithPath: stage.folder + "/go"))
        try await Waiting.until("the vault being written", within: .seconds(60)) { lock.isWanted }
        client.send(SIGINT)
        #expect(try await client.ending(within: .seconds(60)).status == 130)
        try await Waiting.until("the end of the phone's tunnel", within: .seconds(60)) {
            !lock.writerIsConnected(to: stage.relayPort)
        }
        lock.release()
        let ended = try await phone.ending(within: .seconds(60))
        #expect(ended.status == 75 && ended.lastLine.contains("left before it heard"), "\(ended)")
        #expect(ended.lastLine.contains("the new passkey stays in the vault"), "\(ended)")
        try FileManager.default.removeItem(atPath: stage.folder + "/go")
        try await stage.expectSilence()
        #expect(try await props.signIn(["--only=\(old.id)"]).id == old.id)
    }
}
