// SPDX-License-Identifier: Apache-2.0

import HybridAge
import HybridCTAP
import HybridKeyService
import HybridPrimitives
import HybridProgram
import HybridSecrets
import TestSupport
import Testing

@Suite("The creation of keys that phones open", .timeLimit(.minutes(5)))
struct CreationTests {
    @Test("a key is created with two approvals, and then opens with one")
    func creation() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let (simulated, key) = (SimulatedPhone(), AgeSecretKey.random())
            let sealed = try await fixture.seal(simulated, key)
            #expect(simulated.requests.count == 2)
            #expect(sealed.recipient == key.recipient)
            let opened = try await fixture.phone(simulated).open(sealed)
            #expect(opened.recipient == key.recipient)
            #expect(simulated.requests.count == 3)
            let results = try fixture.journal.entries().map(\.result)
            #expect(results == ["answered", "answered", "answered"])
        }
    }

    @Test("the phone is asked for a discoverable passkey of a verified user, under a name that warns of its deletion")
    func request() async throws {
        try await TestFolder.with { folder in
            let simulated = SimulatedPhone()
            _ = try await SecretsFixture(in: folder).seal(simulated)
            guard case .create(let creation) = simulated.requests[0].command,
                case .sign(let sign) = simulated.requests[1].command
            else {
                Issue.record("\(simulated.requests)")
                return
            }
            #expect(creation.residentKey && creation.userVerification && sign.userVerification)
            #expect(creation.user.name == "backup (encryption key)")
            #expect(creation.user.displayName == "Encryption key “backup”. Deleting it loses files.")
            #expect(creation.user.id.bytes.count == 16 && Set(creation.user.id.bytes).count > 1)
            #expect(creation.relyingParty.name == creation.relyingParty.id.text)
            #expect(creation.clientDataHash.bytes == [UInt8](repeating: 0, count: 32))
            #expect(creation.prf?.salts == sign.prf?.salts)
            #expect(sign.allowList.count == 1)
            let events = simulated.requests.map(\.event)
            #expect(events[0].contains(#""operation":"secret-create","key":"backup""#))
            #expect(events[1].contains(#""operation":"secret-open","key":"backup""#))
        }
    }

    @Test("results at sign-in only seal the key; of two results, both are needed")
    func results() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let late = SimulatedPhone(SimulatedPhone.Behaviour(returnsResultsAtCreation: false))
            let sealed = try await fixture.seal(late)
            let opened = try await fixture.phone(late).open(sealed)
            #expect(opened.recipient == sealed.recipient)
            let first = SimulatedPhone(SimulatedPhone.Behaviour(returnsSecondResult: false))
            await #expect(throws: CommandFailure.self) { _ = try await fixture.seal(first) }
        }
    }

    @Test(
        "a useless passkey is named, so that its user deletes it",
        arguments: [
            ("no-prf-in-app", SimulatedPhone.Behaviour(isEnabled: false, returnsResultsAtCreation: false)),
            ("no-prf-in-app", SimulatedPhone.Behaviour(isEnabled: nil, returnsResultsAtCreation: false)),
            ("user-not-verified", SimulatedPhone.Behaviour(verifiesUser: false)),
            ("other-results", SimulatedPhone.Behaviour(changesResults: true)),
        ]
    )
    func useless(code: String, behaviour: SimulatedPhone.Behaviour) async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let simulated = SimulatedPhone(behaviour)
            let failure = await #expect(throws: CommandFailure.self) { _ = try await fixture.seal(simulated) }
            #expect(failure?.code == code)
            let sentence = failure?.sentence ?? ""
            #expect(
                sentence.contains("delete the passkey \"backup (encryption key)\" of secret-abcdefghijklmnop.invalid")
            )
            // Of a phone without secrets, nothing more is asked.
            #expect(simulated.requests.count == (code == "other-results" ? 2 : 1))
        }
    }

    @Test("a sign-in that fails after the creation names the passkey that is left")
    func leftPasskey() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let declined = CommandFailure("it was declined on the phone", code: "declined", status: .notPermitted)
            let simulated = SimulatedPhone(SimulatedPhone.Behaviour(signInFailure: declined))
            let failure = await #expect(throws: CommandFailure.self) { _ = try await fixture.seal(simulated) }
            #expect(failure?.code == "declined" && failure?.status == .notPermitted)
            let sentence = failure?.sentence ?? ""
            #expect(sentence.hasPrefix("it was declined on the phone; "))
            #expect(sentence.contains("\"backup (encryption key)\" of secret-abcdefghijklmnop.invalid"))
        }
    }

    @Test("a further phone opens the key, too, and the first one still does")
    func addition() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            // One simulation with both passkeys, as the user has both phones.
            let simulated = SimulatedPhone()
            let sealed = try await fixture.seal(simulated)
            let added = try await SealedKeyCreation(fixture.phone(simulated)).addPhone(to: sealed)
            #expect(added.phones.count == 2 && added.recipient == sealed.recipient && added.nonce == sealed.nonce)
            #expect(simulated.requests.count == 5)
            guard case .create(let creation) = simulated.requests[3].command,
                case .sign(let trial) = simulated.requests[4].command
            else {
                Issue.record("\(simulated.requests)")
                return
            }
            #expect(creation.excludeList.map(\.id) == sealed.phones.map(\.id))
            #expect(trial.allowList.map(\.id) == [added.phones[1].id])
            #expect(simulated.requests[3].event.contains(#""operation":"secret-add-phone""#))
            let opened = try await fixture.phone(simulated).open(added)
            #expect(opened.recipient == sealed.recipient)
        }
    }

    @Test("a further phone whose results change is not added")
    func uselessAddition() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let simulated = SimulatedPhone()
            let sealed = try await fixture.seal(simulated)
            simulated.behaviour = SimulatedPhone.Behaviour(changesResults: true)
            let failure = await #expect(throws: CommandFailure.self) {
                _ = try await SealedKeyCreation(fixture.phone(simulated)).addPhone(to: sealed)
            }
            #expect(failure?.code == "other-results")
        }
    }

    @Test("a phone with other passkeys opens nothing, and adds nothing")
    func strangers() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let (simulated, stranger) = (SimulatedPhone(), SimulatedPhone())
            let sealed = try await fixture.seal(simulated)
            let failure = await #expect(throws: CommandFailure.self) {
                _ = try await fixture.phone(stranger).open(sealed)
            }
            #expect(failure?.code == "no-passkey")
            await #expect(throws: CommandFailure.self) {
                _ = try await SealedKeyCreation(fixture.phone(stranger)).addPhone(to: sealed)
            }
            #expect(stranger.requests.allSatisfy { if case .create = $0.command { false } else { true } })
        }
    }

    @Test("a declined request is a failure with the phone's code, and is in the journal")
    func declined() async throws {
        try await TestFolder.with { folder in
            let fixture = try SecretsFixture(in: folder)
            let sealed = try await fixture.seal(SimulatedPhone())
            let failure = CommandFailure("it was declined on the phone", code: "declined", status: .notPermitted)
            let simulated = SimulatedPhone(SimulatedPhone.Behaviour(signInFailure: failure))
            let purpose = try #require(SecretPurpose("restic:laptop"))
            let thrown = await #expect(throws: CommandFailure.self) {
                _ = try await fixture.phone(simulated).open(sealed, for: purpose)
            }
            #expect(thrown == failure)
            let last = try #require(try fixture.journal.entries().last)
            #expect(last.result == "declined" && last.door == .secret)
            #expect(last.purpose == #"open the key "backup" for "restic:laptop""#)
            #expect(simulated.requests[0].event.contains(#""purpose":"restic:laptop""#))
        }
    }
}
