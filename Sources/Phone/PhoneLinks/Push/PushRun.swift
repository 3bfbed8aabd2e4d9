// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads

/// One run of a ``PushService``, while it has its name on the session bus.
struct PushRun: Sendable {
    /// The state that the tasks of a run share.
    struct State: Sendable {
        /// The last address of each subscription, by token.
        var endpoints: [String: String] = [:]
        /// The last nonce of a relay for each subscription, by token.
        var nonces: [String: PushNonce] = [:]
        /// Number of calls that have been handled.
        var handled = 0
        /// Number of calls and changes so far; each begins a new time without work.
        var activity = 0
        /// True once nothing is left to prepare or to end, or too many attempts have failed.
        var isSettled = false
        /// The messages of each subscription that were ignored, by token.
        var budgets: [String: WakeUpBudget] = [:]
    }

    /// Maximum number of calls that are handled at a time; more are ignored.
    private static let maximumCalls = 64
    /// Time for the distributor to name an address.
    private static let endpointTimeout = Duration.seconds(60)
    /// The number of failed attempts in a row after which the service may end; the next start asks again.
    static let maximumFailures = 8

    let service: PushService
    let connector: PushConnector
    let state = AwaitableState(State())

    // MARK: Calls of the distributor

    /// Handles the calls of distributors until the bus ends the connection.
    func handleCalls() async throws {
        await withDiscardingTaskGroup { group in
            for await call in connector.calls {
                let isFull = state.change { state in
                    state.activity += 1
                    let isFull = connector.callCount - state.handled > Self.maximumCalls
                    if isFull { state.handled += 1 }
                    return isFull
                }
                guard !isFull else {
                    ignore("there are too many at a time")
                    continue
                }
                group.addTask {
                    await handle(call)
                    state.change {
                        $0.handled += 1
                        $0.activity += 1
                    }
                }
            }
            group.cancelAll()
        }
        try Task.checkCancellation()
        throw PushFailure(.disconnected)
    }

    /// The subscription that a token names.
    private enum Owner {
        case reserve(PushReserve)
        case link(StoredPhoneLink, PushRegistration)

        var registration: PushRegistration {
            switch self {
            case .reserve(let reserve): reserve.registration
            case .link(_, let registration): registration
            }
        }
    }

    private func owner(of token: String) throws(CommandFailure) -> Owner? {
        if let reserve = try service.store.reserve(), reserve.registration.token.matches(token) {
            return .reserve(reserve)
        }
        for record in try service.store.contents().links {
            if let push = record.push, push.token.matches(token) { return .link(record, push) }
        }
        return nil
    }

    private func handle(_ call: PushConnector.Call) async {
        let owner: Owner
        do throws(CommandFailure) {
            guard let found = try self.owner(of: call.token) else { return ignore("its token is unknown") }
            owner = found
        } catch {
            return ignore(error.sentence)
        }
        guard call.distributors.contains(owner.registration.distributor) else { return ignore(Self.strangerReason) }
        switch call.event {
        case .message(let bytes):
            let isPaused = state.read { $0.budgets[call.token]?.isSpent(at: .now) ?? false }
            guard !isPaused else { return ignore("too many before it had no proof") }
            if await receive(bytes, for: owner) { return }
            state.change { $0.budgets[call.token, default: WakeUpBudget()].spend(at: .now) }
        case .endpoint(let endpoint): note(endpoint, of: owner)
        case .unregistered: setEnded(true, owner)
        }
    }

    /// Reports calls of programs that are no push service of a subscription.
    func reportStrangers() async {
        for await _ in connector.strangers { ignore(Self.strangerReason) }
    }

    private static let strangerReason = "a program other than the push service sent it"

    private func ignore(_ reason: String) { service.report(.ignored(reason: reason)) }

    /// Handles a message; returns false if it was ignored.
    private func receive(_ bytes: [UInt8], for owner: Owner) async -> Bool {
        let message: PushMessage
        do throws(PushDecryptionError) {
            message = try owner.registration.key.open(bytes)
        } catch {
            ignore("it is not encrypted for this device")
            return false
        }
        switch (message, owner) {
        case (.proof(let nonce), .reserve(let reserve)):
            state.change { $0.nonces[reserve.registration.token.text] = nonce }
            return true
        case (.wake(let routing, let tunnel, let payload, let seconds), .link(let record, _)):
            // The number serves to decline over a connection, which does not exist here.
            let wake = ContactWakeUp(number: 0, routing: routing, tunnel: tunnel, payload: payload, seconds: seconds)
            return await service.handler.handle(wake, for: record.id) != .ignored
        case (.proof, .link), (.wake, .reserve):
            ignore("it does not belong to this subscription")
            return false
        }
    }

    private func note(_ endpoint: String, of owner: Owner) {
        state.change { $0.endpoints[owner.registration.token.text] = endpoint }
        guard let sealed = owner.registration.sealed else { return }
        setEnded(sealed.endpoint != endpoint, owner)
    }

    /// Records that a subscription has ended, or that it has its sealed address again.
    private func setEnded(_ isEnded: Bool, _ owner: Owner) {
        guard owner.registration.isEnded != isEnded else { return }
        do throws(CommandFailure) {
            switch owner {
            case .link(let record, _):
                try service.store.setPushEnded(isEnded, of: record.id)
                if isEnded { service.report(.ended(label: record.label)) }
            case .reserve(var reserve):
                // Another one is prepared in its place.
                reserve.registration.isEnded = isEnded
                try service.store.setReserve(reserve)
            }
        } catch {
            service.report(.unusable(error.sentence))
        }
    }

    // MARK: Subscriptions

    /// Keeps a subscription in reserve, and ends those of forgotten links.
    func maintain() async throws {
        try await FolderChanges.watch(service.store.path) { changes in
            let changed = AwaitableState(0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in changes { changed.change { $0 += 1 } } }
                group.addTask { try await maintain(changed) }
                defer { group.cancelAll() }
                // The folder may not be watchable, which is no reason to end.
                for try await _ in group {}
            }
        }
    }

    private func maintain(_ changed: AwaitableState<Int>) async throws {
        var generator = SystemRandomNumberGenerator()
        var delay = ReconnectDelay()
        var failures = 0
        var reported: String?
        try await refresh()
        while !Task.isCancelled {
            let generation = changed.read { $0 }
            let known = try Set(forgotten().map(\.record.id))
            do {
                // A relay that fails forever must not keep this device awake.
                state.change { $0.isSettled = failures >= Self.maximumFailures }
                try await unsubscribeForgotten()
                try await fillReserve()
                (delay, failures, reported) = (ReconnectDelay(), 0, nil)
                state.change {
                    $0.isSettled = true
                    $0.activity += 1
                }
                // Any change of the store can mean a new link, or a link that was forgotten.
                await changed.wait { $0 != generation }
            } catch {
                try Task.checkCancellation()
                let failure = (error as? any ExplainedFailure) ?? CommandFailure("\(error)", status: .software)
                if reported != failure.code { service.report(.failed(failure)) }
                reported = failure.code
                failures += 1
                await pause(delay.next(.failure, using: &generator)) {
                    await untilForgotten(besides: known, changed, since: generation)
                }
            }
        }
        try Task.checkCancellation()
    }

    /// Asks for the current address of each subscription, because a change may have been missed.
    ///
    /// This also renews a subscription that has ended, if the push service gives it the same address again.
    private func refresh() async throws {
        let reserved = try service.store.reserve()?.registration
        for push in try service.store.contents().links.compactMap(\.push) + [reserved].compactMap({ $0 }) {
            do {
                try await connector.register(push)
            } catch let failure as PushFailure {
                service.report(.failed(failure))
            }
        }
    }

    /// Returns the forgotten links whose subscriptions have not ended.
    private func forgotten() throws(CommandFailure) -> [(record: StoredPhoneLink, push: PushRegistration)] {
        try service.store.contents().revocations.compactMap { record in
            guard let push = record.push, record.revocation?.isConfirmed == false else { return nil }
            return (record, push)
        }
    }

    /// Waits until another link is forgotten.
    ///
    /// Other changes must not end the delay before the next attempt, because each attempt makes some itself.
    func untilForgotten(
        besides known: Set<LinkID>,
        _ changed: AwaitableState<Int>,
        since generation: Int
    ) async {
        var generation = generation
        while !Task.isCancelled {
            await changed.wait { [generation] in $0 != generation }
            generation = changed.read { $0 }
            guard let current = try? forgotten(), current.allSatisfy({ known.contains($0.record.id) }) else { return }
        }
    }

    private func unsubscribeForgotten() async throws {
        for (record, push) in try forgotten() {
            try await connector.unregister(push)
            try service.store.confirmRevocation(record.id)
            service.report(.unsubscribed(label: record.label))
        }
    }

    /// Prepares a subscription for the next link, unless one is ready.
    private func fillReserve() async throws {
        guard let domain = service.domain else { return }
        let earlier = try service.store.reserve()
        if let earlier, earlier.domain == domain {
            let time = service.clock.now() + PushService.minimumLifetime
            if earlier.registration.isUsable(at: time) { return }
        }
        if let earlier {
            // A subscription that is not needed any more would remain at the push service.
            try? await connector.unregister(earlier.registration)
            try service.store.setReserve(nil)
        }
        let destination = try service.destination(domain)
        let name = try await connector.distributor(service.distributor)
        let sealed = try await withDeadline(service.sealingLimit, orThrow: PushFailure.relaySilent) {
            // A key of its own, so that the relay cannot tell which link will use the subscription.
            try await ContactListener.withListener(
                ContactKey(),
                at: destination.relay,
                bearerToken: destination.bearerToken
            ) { listener in
                let registration = PushRegistration(distributor: name, relayKey: try await listener.pushKey())
                var reserve = PushReserve(domain: domain, registration: registration)
                // First, so that the token in a call is known, and an interruption leaves no unknown subscription.
                try service.store.setReserve(reserve)
                reserve.registration.sealed = try await seal(registration, over: listener)
                return reserve
            }
        }
        guard let current = try service.store.reserve(), !current.registration.isEnded else {
            throw PushFailure.noEndpoint
        }
        try service.store.setReserve(sealed)
        service.report(.ready(host: domain.host))
    }

    private func seal(
        _ registration: PushRegistration,
        over listener: ContactListener
    ) async throws -> PushRegistration.Sealed {
        let token = registration.token.text
        try await connector.register(registration)
        let endpoint = try await value(PushFailure.noEndpoint) { $0.endpoints[token] }
        guard let subscription = registration.key.subscription(endpoint: endpoint) else {
            throw PushFailure.addressTooLong
        }
        let sealed = try await listener.seal(subscription) {
            try await value(PushFailure.noProof) { $0.nonces[token] }
        }
        guard LinkingInformation.fits(sealed.contactID, name: service.deviceName) else {
            throw PushFailure.addressTooLong
        }
        return PushRegistration.Sealed(endpoint: endpoint, contactID: sealed.contactID, expiry: sealed.expiry)
    }

    /// Waits for a part of the state that a call of the distributor sets.
    private func value<Value: Sendable>(
        _ failure: PushFailure,
        _ read: @escaping @Sendable (State) -> Value?
    ) async throws -> Value {
        try await withDeadline(Self.endpointTimeout, orThrow: failure) {
            while true {
                if let value = state.read(read) { return value }
                await state.wait { read($0) != nil }
                try Task.checkCancellation()
            }
        }
    }

    // MARK: The end

    /// Returns when nothing has happened for a while and the bus starts the program again for a message.
    func waitUntilIdle() async throws {
        while true {
            let activity = state.read { $0.activity }
            await pause(service.idleTime) {
                while !Task.isCancelled, state.read({ $0.activity == activity }) {
                    await state.wait { $0.activity != activity }
                }
            }
            try Task.checkCancellation()
            guard isQuiet(since: activity), try !needsConnections(), try await connector.isActivatable() else {
                continue
            }
            if try await connector.releaseName(ifNoCallAfter: state.read { $0.handled }) { return }
        }
    }

    /// Returns true if nothing has happened since, and nothing is left to do.
    ///
    /// Ignored messages count for ten minutes, and the next start would begin with new budgets.
    func isQuiet(since activity: Int) -> Bool {
        state.read { state in
            state.activity == activity && state.isSettled && state.handled == connector.callCount
                && state.budgets.values.allSatisfy { $0.isFull(at: .now) }
        }
    }

    /// Returns true if a link or a revocation needs a connection to a relay.
    private func needsConnections() throws -> Bool {
        let contents = try service.store.contents()
        return (contents.links + contents.revocations).contains { $0.push == nil }
    }
}
