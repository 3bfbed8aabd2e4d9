// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
internal import HybridCommandSupport
package import HybridDataChannel
package import HybridNetwork
package import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads

/// The connections on which this device waits to be woken, one for each link.
///
/// The listener follows the store: links that other processes add or forget are noticed at once. A connection that ends
/// is opened again after a random delay, and without one after a resume. Revocations are repeated until the relay
/// confirms them, and after each restart of the relay, which forgets them.
package struct LinkListeners: Sendable {
    /// A relay and the token that it requires.
    package struct Destination: Sendable {
        /// The relay.
        package let relay: RelayEndpoint
        /// The token; `nil` if the relay requires none.
        package let bearerToken: BearerToken?

        /// Creates a destination.
        package init(relay: RelayEndpoint, bearerToken: BearerToken?) {
            (self.relay, self.bearerToken) = (relay, bearerToken)
        }

        /// Returns the same destination with the TLS sessions of a link, by which a relay must not recognize another.
        package func owned(by link: LinkID) -> Destination {
            var relay = relay
            relay.network.sessions = relay.network.sessions?.owned(by: link.bytes)
            return Destination(relay: relay, bearerToken: bearerToken)
        }
    }

    /// An event for the log.
    package enum Event: Sendable {
        /// The relay can wake this device for a computer.
        case listening(label: String, host: String)
        /// A connection ended, or could not be opened; reported once for each cause.
        case disconnected(label: String, any ExplainedFailure)
        /// Several connections in a row ended early and in order, the last one after this time.
        case cut(label: String, host: String, seconds: Int)
        /// The relay has confirmed a revocation.
        case revoked(label: String)
        /// A link cannot be used; the text is a sentence.
        case unusable(String)
    }

    private let store: PhoneLinkStore
    private let handler: WakeUpHandler
    private let destination: @Sendable (TunnelDomain) throws -> Destination
    private let report: @Sendable (Event) -> Void
    private let resumes = AwaitableState(0)

    /// Creates a listener.
    ///
    /// - Parameters:
    ///   - store: The links.
    ///   - handler: The decisions about wake-ups.
    ///   - destination: Returns the network settings and the token for a relay.
    ///   - report: Called with each event.
    package init(
        store: PhoneLinkStore,
        handler: WakeUpHandler,
        destination: @escaping @Sendable (TunnelDomain) throws -> Destination,
        report: @escaping @Sendable (Event) -> Void
    ) {
        (self.store, self.handler) = (store, handler)
        (self.destination, self.report) = (destination, report)
    }

    /// Reports that the computer has resumed, so that all connections are opened again at once.
    package func resumed() { resumes.change { $0 += 1 } }

    /// Listens until the task is canceled, which also ends a ceremony that is in progress.
    ///
    /// - Parameter started: Called when the links have been read.
    /// - Throws: ``CommandFailure`` if the store cannot be read at the start.
    package func run(started: @Sendable () -> Void = {}) async throws {
        try await FolderChanges.watch(store.path) { try await run($0, started) }
    }

    private func run(_ changes: AsyncStream<Void>, _ started: @Sendable () -> Void) async throws {
        _ = try store.contents()
        let (wakeUps, sink) = AsyncStream.makeStream(of: ReceivedWakeUp.self, bufferingPolicy: .bufferingOldest(64))
        var tasks = Tasks(sink: sink)
        async let ceremonies: Void = handle(wakeUps)
        var complaints: Set<String> = []
        update(&tasks, &complaints)
        started()
        for await _ in changes { update(&tasks, &complaints) }
        sink.finish()
        for entry in tasks.running.values { entry.task.cancel() }
        for entry in tasks.running.values { await entry.task.value }
        await ceremonies
    }

    /// A wake-up with the connection on which it can be declined.
    private struct ReceivedWakeUp: Sendable {
        let wake: ContactWakeUp
        let id: LinkID
        let listener: ContactListener
        let budget: AwaitableState<WakeUpBudget>
    }

    /// The tasks of the links.
    private struct Tasks {
        var running: [LinkID: (isActive: Bool, task: Task<Void, Never>)] = [:]
        let sink: AsyncStream<ReceivedWakeUp>.Continuation
        /// The number of times that each relay may have restarted.
        let restarts = AwaitableState<[TunnelDomain: Int]>([:])
    }

    /// Handles each wake-up in a task of its own, because a ceremony outlives the connection.
    private func handle(_ wakeUps: AsyncStream<ReceivedWakeUp>) async {
        await withDiscardingTaskGroup { group in
            for await received in wakeUps {
                group.addTask {
                    switch await handler.handle(received.wake, for: received.id) {
                    case .none: break
                    case .ignored: received.budget.change { $0.spend(at: .now) }
                    // If the connection has ended, the relay delivers the wake-up again, and it is declined then.
                    case .decline: try? await received.listener.decline(received.wake.number)
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Starts and stops the tasks of links, as the store requires.
    private func update(_ tasks: inout Tasks, _ complaints: inout Set<String>) {
        let contents: PhoneLinkStore.Contents
        do throws(CommandFailure) {
            contents = try store.contents()
        } catch {
            if complaints.insert(error.sentence).inserted { report(.unusable(error.sentence)) }
            return
        }
        for sentence in contents.damaged where complaints.insert(sentence).inserted { report(.unusable(sentence)) }
        // No connection is needed for a link with a push subscription.
        let records = (contents.links + contents.revocations).filter { $0.push == nil }
        let wanted = Dictionary(records.map { ($0.id, $0.activity != nil) }) { first, _ in first }
        for (id, entry) in tasks.running where wanted[id] != entry.isActive {
            entry.task.cancel()
            tasks.running[id] = nil
        }
        for record in records where tasks.running[record.id] == nil {
            let (isActive, sink, restarts) = (record.activity != nil, tasks.sink, tasks.restarts)
            let task = Task {
                if isActive { await listen(record, sink, restarts) } else { await revoke(record, restarts) }
            }
            tasks.running[record.id] = (isActive, task)
        }
    }

    // MARK: Active links

    /// The lowest age at which a relay ends every connection, less a margin; an earlier end may be a restart.
    static let connectionLifetime = Duration.seconds(470)
    /// Number of attempts after a resume with the shorter delays.
    private static let attemptsAfterResume = 3
    /// The interval at which revocations are repeated if nothing indicates a restart of the relay.
    private static let revocationInterval = Duration.seconds(86_400)

    private func listen(
        _ record: StoredPhoneLink,
        _ sink: AsyncStream<ReceivedWakeUp>.Continuation,
        _ restarts: AwaitableState<[TunnelDomain: Int]>
    ) async {
        var generator = SystemRandomNumberGenerator()
        var (delay, cuts, mayHaveRestarted, attemptsAfterResume) = (ReconnectDelay(), ConnectionCuts(), false, 0)
        // Of all connections, because a relay could end each one before its budget is spent.
        let budget = AwaitableState(WakeUpBudget())
        // The cause that was reported last; empty while the device is reachable.
        let reported = Locked<String?>(nil)
        while !Task.isCancelled {
            await renewal(of: budget, using: &generator)
            let generation = resumes.read { $0 }
            let opened = Locked<ContinuousClock.Instant?>(nil)
            let ending: any Error
            do {
                let isReturn = mayHaveRestarted
                try await connection(of: record, sink, budget, since: generation) {
                    opened.withLock { $0 = .now }
                    let isNew = reported.withLock { last in
                        defer { last = "" }
                        return last != ""
                    }
                    if isNew { report(.listening(label: record.label, host: record.domain.host)) }
                    if isReturn { restarts.change { $0[record.domain, default: 0] += 1 } }
                }
                ending = Resumed()
            } catch {
                ending = error
            }
            if Task.isCancelled { return }
            let duration = opened.withLock { $0 }.map { ContinuousClock.now - $0 }
            mayHaveRestarted = duration.map { $0 < Self.connectionLifetime } ?? true
            if let duration, duration >= ReconnectDelay.stableDuration { delay.reset() }
            if ending is Resumed {
                delay.reset()
                attemptsAfterResume = Self.attemptsAfterResume
                continue
            }
            if let flood = ending as? WakeUpFlood {
                complain(flood, record, reported)
                continue
            }
            var cause = ReconnectDelay.Cause(ending, after: duration)
            if cuts.isReported(ending, after: duration), let duration {
                let seconds = Int(duration / .seconds(1))
                report(.cut(label: record.label, host: record.domain.host, seconds: seconds))
            }
            // A relay ends each connection after ten minutes, which is not worth a line.
            if cause == .failure || duration == nil { complain(ending, record, reported) }
            // The network is often not ready at once.
            if attemptsAfterResume > 0 {
                attemptsAfterResume -= 1
                cause = .requested
            }
            await pause(delay.next(cause, using: &generator)) { await resumes.wait { $0 != generation } }
        }
    }

    /// Waits until wake-ups are heard again, and up to a minute longer if they are not heard now.
    ///
    /// A resume does not renew a budget, but the time of the suspend counts.
    private func renewal(
        of budget: AwaitableState<WakeUpBudget>,
        using generator: inout SystemRandomNumberGenerator
    ) async {
        while !Task.isCancelled, let rest = budget.read({ $0.rest(at: .now) }) {
            let generation = resumes.read { $0 }
            let duration = rest + .seconds(Int.random(in: 0...60, using: &generator))
            await pause(duration) { await resumes.wait { $0 != generation } }
        }
    }

    /// Reports an error, unless it was the last one that was reported.
    private func complain(_ error: any Error, _ record: StoredPhoneLink, _ reported: Locked<String?>) {
        let failure = (error as? any ExplainedFailure) ?? CommandFailure("\(error)", status: .software)
        let isNew = reported.withLock { last in
            defer { last = failure.code }
            return last != failure.code
        }
        if isNew { report(.disconnected(label: record.label, failure)) }
    }

    /// The relay sent wake-ups that no computer has proved.
    struct WakeUpFlood: ExplainedFailure {
        var code: String { "wake-up-flood" }
        var sentence: String { "the relay sent wake-ups without a proof; the connection stays closed for ten minutes" }
        var status: ExitStatus { .unavailable }
    }

    /// The computer resumed, so that the connection is no longer trusted.
    private struct Resumed: Error {}

    /// Keeps a connection until it fails, and throws ``Resumed`` on the next resume.
    private func connection(
        of record: StoredPhoneLink,
        _ sink: AsyncStream<ReceivedWakeUp>.Continuation,
        _ budget: AwaitableState<WakeUpBudget>,
        since generation: Int,
        opened: @escaping @Sendable () -> Void
    ) async throws {
        let destination = try destination(record.domain).owned(by: record.id)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await ContactListener.withListener(
                    record.contactKey,
                    at: destination.relay,
                    bearerToken: destination.bearerToken
                ) { listener in
                    opened()
                    while true {
                        let wake = try await listener.next()
                        budget.change { $0.receive(at: .now) }
                        let received = ReceivedWakeUp(wake: wake, id: record.id, listener: listener, budget: budget)
                        // Only a flood fills the queue.
                        if case .dropped = sink.yield(received) { budget.change { $0.spend(at: .now) } }
                    }
                }
            }
            group.addTask {
                while !budget.read({ $0.isSpent(at: .now) }) {
                    await budget.wait { $0.isSpent(at: .now) }
                    try Task.checkCancellation()
                }
                throw WakeUpFlood()
            }
            group.addTask {
                await resumes.wait { $0 != generation }
                throw Resumed()
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: Revocations

    /// Revokes a contact ID at its relay, and does so again after each restart of the relay.
    private func revoke(_ record: StoredPhoneLink, _ restarts: AwaitableState<[TunnelDomain: Int]>) async {
        var generator = SystemRandomNumberGenerator()
        var delay = ReconnectDelay()
        let reported = Locked<String?>(nil)
        while !Task.isCancelled {
            let (restart, generation) = (restarts.read { $0[record.domain] }, resumes.read { $0 })
            do {
                try await Self.revoke(record, at: try destination(record.domain).owned(by: record.id))
                let isNew = try store.record(record.id)?.revocation?.isConfirmed == false
                try store.confirmRevocation(record.id)
                if isNew { report(.revoked(label: record.label)) }
                delay.reset()
                await pause(Self.revocationInterval) {
                    // Other relays restart, too.
                    while restarts.read({ $0[record.domain] == restart }), !Task.isCancelled {
                        await restarts.wait { $0[record.domain] != restart }
                    }
                }
            } catch {
                if Task.isCancelled { return }
                complain(error, record, reported)
                await pause(delay.next(.failure, using: &generator)) { await resumes.wait { $0 != generation } }
            }
        }
    }

    /// Revokes the contact ID of a link at its relay, once; returns when the relay has confirmed it.
    ///
    /// - Parameters:
    ///   - record: The link.
    ///   - destination: The relay and its token.
    ///   - limit: Time limit for everything, from the connection to the confirmation.
    /// - Throws: `TunnelError`; ``CommandFailure`` if the relay does not confirm in time; `CancellationError`.
    package static func revoke(
        _ record: StoredPhoneLink,
        at destination: Destination,
        within limit: Duration = .seconds(30)
    ) async throws {
        let late = CommandFailure("the relay did not confirm the revocation in time", status: .temporary)
        try await withDeadline(limit, orThrow: late) {
            try await ContactListener.withListener(
                record.contactKey,
                at: destination.relay,
                bearerToken: destination.bearerToken
            ) { listener in
                try await listener.revoke()
                // The relay confirms by closing the connection.
                do {
                    while true { _ = try await listener.next() }
                } catch let error as TunnelError where error.closeCode == 1000 {}
            }
        }
    }
}
