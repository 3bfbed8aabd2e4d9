// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import TestSupport
import Testing

@Suite("User verification and cancellation", .timeLimit(.minutes(10)))
struct VerificationTests {
    @Test("A PIN may be wrong twice, and the user learns how many attempts are left")
    func wrongTwice() async throws {
        let fixture = try AuthenticatorFixture { $0.pins = ["1111", "2222", MemoryStore.rightPIN] }
        try fixture.addPasskey("ada")
        #expect(await fixture.sign().status == .success)
        let operation = RequestedOperation.signIn(fixture.relyingParty)
        #expect(
            Array(fixture.log.events.prefix(6)) == [
                .askedPIN(operation, nil), .refusedPIN, .askedPIN(operation, .wrong(attemptsLeft: 7)), .refusedPIN,
                .askedPIN(operation, .wrong(attemptsLeft: 6)), .opened,
            ]
        )
        #expect(await fixture.authenticator.lastFailure == nil)
    }

    @Test("Three wrong PINs end any request")
    func wrongThrice() async throws {
        let fixture = try AuthenticatorFixture { $0.pins = ["1111", "2222", "3333", MemoryStore.rightPIN] }
        await fixture.expectFailure(await fixture.sign(), 0x27, .wrongPIN)
        #expect(fixture.log.events.count { $0 == .refusedPIN } == 3)
        #expect(fixture.log.events.count == 6, "only prompts and rejections")
        fixture.log.clear()
        await fixture.expectFailure(try await fixture.create(), 0x27, .wrongPIN)
    }

    @Test("A lockout ends the request at once", arguments: [0, 1, 2])
    func lockout(after wrong: Int) async throws {
        let fixture = try AuthenticatorFixture { $0.pins = ["1111"] }
        fixture.store.fail {
            $0.unlock = (0..<wrong).map { .wrongPIN(attemptsLeft: 2 - $0) } + [.lockedOut(seconds: 30)]
        }
        await fixture.expectFailure(await fixture.sign(), 0x27, .lockedOut(seconds: 30))
        #expect(fixture.log.events.count == wrong + 1)
    }

    @Test("After the last attempt before a wait, no other PIN is requested")
    func lastAttempt() async throws {
        let fixture = try AuthenticatorFixture { $0.pins = ["1111", MemoryStore.rightPIN] }
        fixture.store.fail { $0.unlock = [.wrongPIN(attemptsLeft: 0)] }
        await fixture.expectFailure(await fixture.sign(), 0x27, .wrongPIN)
        #expect(fixture.log.events.count == 1, "only one prompt")
    }

    @Test("After a refusal, the same client cannot prompt the user again")
    func declinedOnce() async throws {
        let fixture = try AuthenticatorFixture { $0.atConfirmation = .no(.declined) }
        await fixture.expectFailure(try await fixture.create(), 0x27, .declined)
        fixture.log.clear()
        await fixture.expectFailure(await fixture.sign(), 0x27, .declined)
        await fixture.expectFailure(try await fixture.create(), 0x27, .declined)
        #expect(fixture.log.events.isEmpty, "no prompt and no access to the store")
    }

    @Test(
        "The user is asked for three requests of a session, whatever their outcome; further ones get 0x27",
        arguments: ["signed", "no passkey", "already registered", "no screen", "no vault", "cancelled"]
    )
    func promptedRequests(outcome: String) async throws {
        let fixture = try AuthenticatorFixture { user in
            if outcome == "no screen" { user.atPIN = .no(.unavailable("no screen")) }
        }
        let known = outcome == "no passkey" ? nil : try fixture.addPasskey("ada")
        let exclude = outcome == "already registered" ? [try #require(known).descriptor] : []
        let request: CTAPRequest =
            exclude.isEmpty ? .getAssertion(fixture.signIn()) : .makeCredential(try fixture.creation(exclude: exclude))
        let statuses: [String: UInt8] = [
            "signed": 0, "no passkey": 0x2E, "already registered": 0x19, "no screen": 0x27, "no vault": 0x7F,
            "cancelled": 0x2D,
        ]
        for _ in 0..<Authenticator.maximumPromptedRequests {
            let unlocking = Signal()
            fixture.store.fail { faults in
                if outcome == "no vault" { faults.unlock = [.unusable("the vault is not there")] }
                guard outcome == "cancelled" else { return }
                faults.whileUnlocking = {
                    unlocking.fire()
                    await Signal.cancellation()
                }
            }
            let response =
                outcome == "cancelled"
                ? await Self.cancelled(fixture, request, when: unlocking) : await fixture.authenticator.answer(request)
            #expect(response.encoded.first == statuses[outcome])
        }
        await fixture.authenticator.sessionEnded()
        fixture.log.clear()
        for request in [request, .makeCredential(try fixture.creation())] {
            #expect(await fixture.authenticator.answer(request).encoded == [0x27])
            #expect(await fixture.authenticator.lastFailure == .tooManyRequests)
        }
        #expect(fixture.log.events.isEmpty, "no prompt and no access to the store")
        #expect(Authenticator.maximumPromptedRequests == 3)
    }

    @Test("A session shows six prompts, and no PIN prompt that no other can follow")
    func prompts() async throws {
        let (wrong, right) = ("1111", MemoryStore.rightPIN)
        let cases: [(pins: [String], statuses: [UInt8], prompts: Int)] = [
            // Two sign-ins with one mistyped PIN each; one with two, and a second without; three without.
            ([wrong, right, wrong, right, right], [0, 0, 0x27], 6), ([wrong, wrong, right, right], [0, 0, 0x27], 6),
            ([right], [0, 0, 0, 0x27], 6),
            // The last prompt would remain for the account, which no right PIN precedes.
            ([wrong, wrong, right, wrong, right], [0, 0x27, 0x27], 5),
        ]
        for (pins, statuses, prompts) in cases {
            let fixture = try AuthenticatorFixture { $0.pins = pins }
            try fixture.addPasskey("ada")
            for status in statuses {
                #expect(await fixture.authenticator.answer(.getAssertion(fixture.signIn())).encoded.first == status)
            }
            #expect(await fixture.authenticator.lastFailure == .tooManyRequests)
            let shown = fixture.log.events.count {
                switch $0 {
                case .askedPIN, .confirmed, .chose, .notified: true
                default: false
                }
            }
            #expect(shown == prompts, "\(pins)")
        }
        #expect(Authenticator.maximumPrompts == 6)
    }

    @Test("Requests that are refused without a prompt do not count")
    func unpromptedRequests() async throws {
        let fixture = try AuthenticatorFixture()
        try fixture.addPasskey("ada")
        for _ in 0..<5 {
            #expect(await fixture.sign(userPresence: false).encoded == [0x2B])
            #expect(try await fixture.create(algorithms: [.rs256]).encoded == [0x26])
        }
        #expect(await fixture.sign().status == .success)
    }

    @Test("A store that cannot be used ends the request at once")
    func unusable() async throws {
        let fixture = try AuthenticatorFixture()
        fixture.store.fail { $0.unlock = [.unusable("the vault is not there")] }
        await fixture.expectFailure(try await fixture.create(), 0x7F, .storeUnusable("the vault is not there"))
        #expect(fixture.log.events.count == 1)
    }

    @Test("A refusal after a wrong PIN is a refusal")
    func declinedAfterWrong() async throws {
        struct Stubborn: UserInteraction {
            let inner: ScriptedUser
            func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
                if problem != nil { throw .declined }
                return try await inner.askPIN(for: operation, problem: problem)
            }
            func confirmCreation(
                of: UserEntity,
                for: RequestedOperation,
                replacing: [UserEntity]
            ) async throws(UserRefusal) {}
            func chooseAccount(_: [UserEntity], for: RequestedOperation) async throws(UserRefusal) -> Int { 0 }
            func show(_: Notice, for: RequestedOperation) async throws(UserRefusal) {}
        }
        let fixture = try AuthenticatorFixture()
        let user = Stubborn(inner: ScriptedUser(log: fixture.log, pins: ["1111"]))
        let authenticator = Authenticator(store: fixture.store, user: user)
        #expect(await authenticator.answer(.getAssertion(fixture.signIn())).encoded == [0x27])
        #expect(await authenticator.lastFailure == .declined)
    }

    @Test(
        "A client that disconnects closes the prompt, and nothing is saved",
        arguments: ["PIN", "consent", "notice"]
    )
    func cancelledCreation(at question: String) async throws {
        let asked = Signal()
        let fixture = try AuthenticatorFixture { user in
            switch question {
            case "PIN": user.atPIN = .waits(asked)
            case "consent": user.atConfirmation = .waits(asked)
            default: user.atNotice = .waits(asked)
            }
        }
        let exclude = question == "notice" ? [try fixture.addPasskey("ada").descriptor] : []
        let request = try fixture.creation(exclude: exclude)
        let response = await Self.cancelled(fixture, .makeCredential(request), when: asked)
        await fixture.expectFailure(response, 0x2D, .cancelled, stored: exclude.count)
    }

    @Test("A client that disconnects gets no signature", arguments: ["PIN", "choice", "notice"])
    func cancelledSignIn(at question: String) async throws {
        let asked = Signal()
        let fixture = try AuthenticatorFixture { user in
            switch question {
            case "PIN": user.atPIN = .waits(asked)
            case "choice": user.atChoice = .waits(asked)
            default: user.atNotice = .waits(asked)
            }
        }
        if question != "notice" { try fixture.addPasskey("ada") }
        let response = await Self.cancelled(fixture, .getAssertion(fixture.signIn()), when: asked)
        await fixture.expectFailure(response, 0x2D, .cancelled, stored: question == "notice" ? 0 : 1)
    }

    @Test("A client that disconnects during unlocking causes no further prompt")
    func cancelledUnlocking() async throws {
        for isCreation in [false, true] {
            let unlocking = Signal()
            let fixture = try AuthenticatorFixture()
            try fixture.addPasskey("ada")
            fixture.store.fail {
                $0.whileUnlocking = {
                    unlocking.fire()
                    await Signal.cancellation()
                }
            }
            let request: CTAPRequest =
                isCreation ? .makeCredential(try fixture.creation()) : .getAssertion(fixture.signIn())
            let response = await Self.cancelled(fixture, request, when: unlocking)
            await fixture.expectFailure(response, 0x2D, .cancelled, stored: 1)
            let questions = fixture.log.events.count {
                switch $0 {
                case .confirmed, .chose, .notified: true
                default: false
                }
            }
            #expect(questions == 0)
        }
    }

    @Test("A client that disconnected before causes no prompt")
    func cancelledBefore() async throws {
        let fixture = try AuthenticatorFixture()
        let request = CTAPRequest.makeCredential(try fixture.creation())
        let gate = Signal()
        let task = Task {
            await gate.wait()
            return await fixture.authenticator.answer(request)
        }
        task.cancel()
        gate.fire()
        await fixture.expectFailure(await task.value, 0x2D, .cancelled)
        #expect(fixture.log.events == [])
    }

    private static func cancelled(
        _ fixture: AuthenticatorFixture,
        _ request: CTAPRequest,
        when asked: Signal
    ) async -> CTAPResponse {
        let task = Task { await fixture.authenticator.answer(request) }
        await asked.wait()
        task.cancel()
        return await task.value
    }
}
