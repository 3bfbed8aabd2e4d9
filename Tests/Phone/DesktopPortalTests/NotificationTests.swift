// SPDX-License-Identifier: Apache-2.0

import HybridDBus
import HybridDesktopPortal
import TestSupport
import Testing

@Suite("A question as a notification", .timeLimit(.minutes(10)))
struct NotificationTests {
    private static let question = DesktopNotification(
        application: "program",
        summary: "Sign in?",
        text: "The computer",
        agree: "Sign in",
        decline: "Not now"
    )

    /// Returns the answer of a user, or the failure.
    private func answer(
        _ behavior: StandInNotificationServer.Behavior?,
        within limit: Duration = .seconds(60)
    ) async throws -> Result<DesktopNotification.Answer, DesktopNotification.Failure> {
        let box = Box()
        try await StandInNotificationServer.serve(behavior) { address, server in
            do throws(DesktopNotification.Failure) {
                await box.set(.success(try await Self.question.ask(on: address, within: limit)))
            } catch {
                await box.set(.failure(error))
            }
            if case .success? = await box.result {
                try await Waiting.until("the notification is closed") { server?.wasClosed == true }
            }
        }
        return try #require(await box.result)
    }

    private actor Box {
        var result: Result<DesktopNotification.Answer, DesktopNotification.Failure>?
        func set(_ result: Result<DesktopNotification.Answer, DesktopNotification.Failure>) { self.result = result }
    }

    @Test("is answered by its actions, whether the signal follows or precedes the return of the call")
    func actions() async throws {
        for early in [false, true] {
            #expect(try await answer(.choose(0, early: early)) == .success(.agreed))
            #expect(try await answer(.choose(1, early: early)) == .success(.declined))
        }
    }

    @Test("is answered by an action that the server reports after the end of the notification")
    func actionAfterEnd() async throws {
        for reason: UInt32 in [1, 2, 3] {
            #expect(try await answer(.closeBeforeChoice(reason, 0)) == .success(.agreed))
            #expect(try await answer(.closeBeforeChoice(reason, 1)) == .success(.declined))
        }
    }

    @Test("is not declined if the user dismisses it, and expires otherwise")
    func closed() async throws {
        #expect(try await answer(.close(2)) == .success(.dismissed))
        #expect(try await answer(.close(4)) == .success(.dismissed))
        #expect(try await answer(.close(1)) == .success(.expired))
        #expect(try await answer(.wait, within: .milliseconds(50)) == .success(.expired))
    }

    @Test("is answered by the server only")
    func impostor() async throws {
        #expect(try await answer(.impostor(count: 1)) == .success(.declined))
        // More than the buffer has room for.
        #expect(try await answer(.impostor(count: 300)) == .success(.declined))
    }

    @Test("cannot be asked without a server that shows actions")
    func unavailable() async throws {
        for behavior in [nil, .lacksActions, .refuse] as [StandInNotificationServer.Behavior?] {
            guard case .failure(.unavailable) = try await answer(behavior) else {
                Issue.record("answered")
                return
            }
        }
        await #expect(throws: DesktopNotification.Failure.unavailable("there is no session bus")) {
            try await Self.question.ask(on: BusAddress("unix:path=/nonexistent/bus"), within: .seconds(60))
        }
    }

    @Test("names its texts and actions, and ends if the task is canceled")
    func cancelled() async throws {
        try await StandInNotificationServer.serve(.wait) { address, server in
            let task = Task { try await Self.question.ask(on: address, within: .seconds(60)) }
            try await Waiting.until("the notification") { server?.notification != nil }
            let arguments = try #require(server?.notification)
            #expect(arguments[0].text == "program" && arguments[3].text == "Sign in?")
            #expect(arguments[4].text == "The computer" && arguments[7] == .int32(0))
            if case .array(_, let actions) = arguments[5] {
                #expect(actions.count == 4 && actions[1].text == "Sign in" && actions[3].text == "Not now")
            } else {
                Issue.record("no actions")
            }
            task.cancel()
            await #expect(throws: DesktopNotification.Failure.interrupted) { try await task.value }
        }
    }

    @Test("can be a message without actions")
    func message() async throws {
        try await StandInNotificationServer.serve(.wait) { address, server in
            try await Self.question.show(on: address)
            let arguments = try #require(server?.notification)
            #expect(arguments[5] == .strings([]))
        }
    }
}
