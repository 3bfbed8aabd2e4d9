// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Testing

@Suite("Verifying the user and giving up", .timeLimit(.minutes(10)))
struct VerificationTests {
    @Test("a PIN may be wrong twice, and the person learns how many attempts are left")
    func wrongTwice() async throws {
        let desk = try Desk { $0.pins = ["1111", "2222", MemoryStore.rightPIN] }
        try desk.known("ada")
        #expect(await desk.sign().status == .success)
        let operation = RequestedOperation.signIn(desk.relyingParty)
        #expect(
            Array(desk.journal.events.prefix(6)) == [
                .askedPIN(operation, nil), .refusedPIN, .askedPIN(operation, .wrong(attemptsLeft: 7)), .refusedPIN,
                .askedPIN(operation, .wrong(attemptsLeft: 6)), .opened,
            ]
        )
        #expect(await desk.authenticator.lastFailure == nil)
    }

    @Test("three wrong PINs end the request, whatever it was")
    func wrongThrice() async throws {
        let desk = try Desk { $0.pins = ["1111", "2222", "3333", MemoryStore.rightPIN] }
        await desk.expectFailure(await desk.sign(), 0x27, .wrongPIN)
        #expect(desk.journal.events.count { $0 == .refusedPIN } == 3)
        #expect(desk.journal.events.count == 6, "nothing but questions and refusals")
        desk.journal.clear()
        await desk.expectFailure(try await desk.create(), 0x27, .wrongPIN)
    }

    @Test("a lockout ends the request at once", arguments: [0, 1, 2])
    func lockout(after wrong: Int) async throws {
        let desk = try Desk { $0.pins = ["1111"] }
        desk.store.fail {
            $0.unlock = (0..<wrong).map { .wrongPIN(attemptsLeft: 2 - $0) } + [.lockedOut(seconds: 30)]
        }
        await desk.expectFailure(await desk.sign(), 0x27, .lockedOut(seconds: 30))
        #expect(desk.journal.events.count == wrong + 1)
    }

    @Test("after the last attempt that is judged at once, nobody is asked for another PIN")
    func lastAttempt() async throws {
        let desk = try Desk { $0.pins = ["1111", MemoryStore.rightPIN] }
        desk.store.fail { $0.unlock = [.wrongPIN(attemptsLeft: 0)] }
        await desk.expectFailure(await desk.sign(), 0x27, .wrongPIN)
        #expect(desk.journal.events.count == 1, "one question, no second")
    }

    @Test("who said no is not asked again by the same client, whatever it asks")
    func declinedOnce() async throws {
        let desk = try Desk { $0.atConfirmation = .no(.declined) }
        await desk.expectFailure(try await desk.create(), 0x27, .declined)
        desk.journal.clear()
        await desk.expectFailure(await desk.sign(), 0x27, .declined)
        await desk.expectFailure(try await desk.create(), 0x27, .declined)
        #expect(desk.journal.events.isEmpty, "no question, no look into the store")
    }

    @Test("a store that can't be used ends the request at once")
    func unusable() async throws {
        let desk = try Desk()
        desk.store.fail { $0.unlock = [.unusable("the vault is not there")] }
        await desk.expectFailure(try await desk.create(), 0x7F, .storeUnusable("the vault is not there"))
        #expect(desk.journal.events.count == 1)
    }

    @Test("a no after a wrong PIN is a no")
    func declinedAfterWrong() async throws {
        struct Stubborn: UserInteraction {
            let inner: ScriptedUser
            func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
                if problem != nil { throw .declined }
                return try await inner.askPIN(for: operation, problem: problem)
            }
            func confirmCreation(
                of: UserEntity,
                for: RelyingPartyID,
                replacing: [UserEntity]
            ) async throws(UserRefusal) {}
            func chooseAccount(_: [UserEntity], for: RelyingPartyID) async throws(UserRefusal) -> Int { 0 }
            func tell(_: Notice, relyingParty: RelyingPartyID) async throws(UserRefusal) {}
        }
        let desk = try Desk()
        let user = Stubborn(inner: ScriptedUser(journal: desk.journal, pins: ["1111"]))
        let authenticator = Authenticator(store: desk.store, user: user)
        #expect(await authenticator.answer(.getAssertion(desk.signIn())).encoded == [0x27])
        #expect(await authenticator.lastFailure == .declined)
    }

    @Test(
        "a client that goes away takes the question down, and nothing is stored",
        arguments: ["PIN", "consent", "notice"]
    )
    func cancelledCreation(at question: String) async throws {
        let asked = Signal()
        let desk = try Desk { user in
            switch question {
            case "PIN": user.atPIN = .waits(asked)
            case "consent": user.atConfirmation = .waits(asked)
            default: user.atNotice = .waits(asked)
            }
        }
        let exclude = question == "notice" ? [try desk.known("ada").descriptor] : []
        let request = try desk.creation(exclude: exclude)
        let response = await Self.cancelled(desk, .makeCredential(request), when: asked)
        await desk.expectFailure(response, 0x2D, .cancelled, stored: exclude.count)
    }

    @Test("a client that goes away gets no signature", arguments: ["PIN", "choice", "notice"])
    func cancelledSignIn(at question: String) async throws {
        let asked = Signal()
        let desk = try Desk { user in
            switch question {
            case "PIN": user.atPIN = .waits(asked)
            case "choice": user.atChoice = .waits(asked)
            default: user.atNotice = .waits(asked)
            }
        }
        if question != "notice" { try desk.known("ada") }
        let response = await Self.cancelled(desk, .getAssertion(desk.signIn()), when: asked)
        await desk.expectFailure(response, 0x2D, .cancelled, stored: question == "notice" ? 0 : 1)
    }

    @Test("a client that goes away while the store is opened raises no further question")
    func cancelledUnlocking() async throws {
        for isCreation in [false, true] {
            let unlocking = Signal()
            let desk = try Desk()
            try desk.known("ada")
            desk.store.fail {
                $0.whileUnlocking = {
                    unlocking.fire()
                    await Signal.cancellation()
                }
            }
            let request: CTAPRequest =
                isCreation ? .makeCredential(try desk.creation()) : .getAssertion(desk.signIn())
            let response = await Self.cancelled(desk, request, when: unlocking)
            await desk.expectFailure(response, 0x2D, .cancelled, stored: 1)
            let questions = desk.journal.events.count {
                switch $0 {
                case .confirmed, .chose, .told: true
                default: false
                }
            }
            #expect(questions == 0)
        }
    }

    @Test("a client that went away before is not asked for")
    func cancelledBefore() async throws {
        let desk = try Desk()
        let request = CTAPRequest.makeCredential(try desk.creation())
        let gate = Signal()
        let task = Task {
            await gate.wait()
            return await desk.authenticator.answer(request)
        }
        task.cancel()
        gate.fire()
        await desk.expectFailure(await task.value, 0x2D, .cancelled)
        #expect(desk.journal.events == [])
    }

    private static func cancelled(_ desk: Desk, _ request: CTAPRequest, when asked: Signal) async -> CTAPResponse {
        let task = Task { await desk.authenticator.answer(request) }
        await asked.wait()
        task.cancel()
        return await task.value
    }
}
