// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridNetwork
internal import HybridPhoneLinks
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads

/// The lab's phone without a code: linked clients wake it, and each wake-up uses the next script.
struct WokenPhone: Sendable {
    let phone: LabPhone
    let links: LabLinks
    /// The scripts; the last one is used for all further wake-ups.
    let scripts: [PhoneScript]

    /// Answers wake-ups.
    ///
    /// - Parameter count: The number of wake-ups, or 0 for all until the task is canceled.
    /// - Throws: ``CommandFailure`` if a ceremony deviates from its script, or there were too few wake-ups in time.
    func run(count: Int) async throws {
        guard count > 0 else { return try await answer(count) }
        let late = CommandFailure(
            "no linked client asked in time; --timeout gives it more",
            code: "no-wake-up",
            status: .temporary
        )
        try await withDeadline(phone.timeout * (4 * count), orThrow: late) { try await answer(count) }
    }

    private func answer(_ count: Int) async throws {
        let (outcomes, sink) = AsyncStream.makeStream(of: CommandFailure?.self)
        // The handler asks about one wake-up at a time.
        let next = Locked(0)
        let current = Locked(PhoneScript())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await links.listen(phone.relay.network) { question in
                    let script = next.withLock { index in
                        defer { index += 1 }
                        return scripts[min(index, scripts.count - 1)]
                    }
                    current.withLock { $0 = script }
                    phone.report.wakeUp(from: question.label, question.hint, script)
                    return await Self.tap(script, within: question.limit)
                } perform: { wakeUp, identity in
                    let result = await phone.play(current.withLock { $0 }, wakeUp, identity)
                    sink.yield(result)
                } wakeUp: { event in
                    phone.report.wakeUpEvent(event)
                    if case .answered(_, .declined) = event { sink.yield(nil) }
                    if case .answered(_, .unanswered) = event { sink.yield(nil) }
                } listener: { event in
                    phone.report.listenerEvent(event)
                }
            }
            group.addTask {
                var answered = 0
                for await failure in outcomes {
                    if let failure {
                        guard count == 0 else { throw failure }
                        phone.report.failure(failure)
                    }
                    answered += 1
                    guard answered == count else { continue }
                    // The relay is informed of a decline after the event, on a connection that ends with this task.
                    return try await Task.sleep(for: .milliseconds(500))
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Answers the question about a wake-up as the script says.
    private static func tap(_ script: PhoneScript, within limit: Duration) async -> WakeUpAnswer {
        switch script.user {
        case .declineTap: return .declined
        case .ignoreTap:
            try? await Task.sleep(for: limit)
            return .unanswered
        default: return .approved
        }
    }
}
