// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
internal import HybridCommandSupport
package import HybridDataChannel
package import HybridPrimitives
internal import HybridProgram
package import HybridSession
internal import HybridThreads

/// The question for the user about one wake-up.
package struct WakeUpQuestion: Hashable, Sendable {
    /// The user's name for the computer.
    package let label: String
    /// The type of the request, according to the computer.
    package let hint: RequestHint
    /// The cause of the request, according to the computer.
    package let requester: Requester
    /// The time to answer.
    package let limit: Duration
}

/// The response to the relay after a wake-up.
package enum WakeUpResponse: Hashable, Sendable {
    /// Nothing is sent.
    case none
    /// Nothing is sent, because the wake-up has no proof, is old or was repeated. Only a hostile relay or push service
    /// delivers several of these.
    case ignored
    /// The wake-up is declined, so that the computer falls back to a code at once.
    case decline
}

/// The decisions about wake-ups: which ones reach the user, and what follows.
///
/// A wake-up passes these checks in order. No step before the user's tap uses a radio or a network.
///
/// 1. It names the link of its connection, and its proof verifies. A relay cannot fake that. A wake-up that the relay
///    delivers again after a reconnection has the same tunnel, and gets the same response.
/// 2. Its time is within ten minutes of the device's clock, and its number was not counted before.
/// 3. There were at most six wake-ups in a minute, requests of its cause are not muted, and no other ceremony is in
///    progress.
/// 4. Its number is counted, and the user taps. Three declines within ten minutes mute requests of the same cause.
///
/// A wake-up that fails the first two checks gets no response, so that a relay learns nothing and cannot mute a link.
package actor WakeUpHandler {
    /// An event for the log.
    package enum Event: Hashable, Sendable {
        /// A wake-up was ignored; the text is the reason. Each reason is reported at most once a minute.
        case ignored(label: String?, reason: String)
        /// A wake-up was declined without a question; the text is the reason.
        case refused(label: String, reason: String)
        /// The user is asked.
        case asking(label: String, RequestHint)
        /// The user answered, or did not.
        case answered(label: String, WakeUpAnswer)
        /// Requests of a cause are muted after three declines.
        case muted(label: String, Requester)
    }

    /// Maximum number of wake-ups of a link in a minute.
    static let maximumPerMinute = 6
    /// The greatest difference in seconds between the time of a request and this device's clock.
    static let maximumAge: UInt64 = 600
    /// Maximum number of tunnels that are remembered.
    private static let maximumTunnels = 64

    private let store: PhoneLinkStore
    private let clock: WallClock
    private let ask: @Sendable (WakeUpQuestion) async -> WakeUpAnswer
    private let perform: @Sendable (ApprovedWakeUp, _ label: String) async -> Void
    private let report: @Sendable (Event) -> Void

    /// The response for each of the last tunnels, oldest first; `nil` while it is not known.
    private var tunnels: [(id: TunnelID, response: AwaitableState<WakeUpResponse?>)] = []
    /// The times of the wake-ups of the last minute, in seconds since 1970, by link.
    private(set) var times: [LinkID: [UInt64]] = [:]
    /// The lines about ignored wake-ups, by label.
    private var lines: [String: RepeatedLines] = [:]
    /// True while the user is asked, or a ceremony is in progress.
    private var isBusy = false

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - store: The links.
    ///   - clock: The clock.
    ///   - ask: Asks the user, without a radio or a network.
    ///   - perform: Performs the ceremony after the user's tap, and reports failures itself.
    ///   - report: Called with each event.
    package init(
        store: PhoneLinkStore,
        clock: WallClock = .realtime,
        ask: @escaping @Sendable (WakeUpQuestion) async -> WakeUpAnswer,
        perform: @escaping @Sendable (ApprovedWakeUp, _ label: String) async -> Void,
        report: @escaping @Sendable (Event) -> Void
    ) {
        (self.store, self.clock) = (store, clock)
        (self.ask, self.perform, self.report) = (ask, perform, report)
    }

    /// Handles a wake-up that was received for a link, until its ceremony has ended.
    ///
    /// - Returns: The response to the relay.
    package func handle(_ wake: ContactWakeUp, for id: LinkID) async -> WakeUpResponse {
        if let known = tunnels.first(where: { $0.id == wake.tunnel }) { return await Self.value(of: known.response) }
        guard let (request, label) = verified(wake, for: id) else { return .ignored }
        let state = AwaitableState<WakeUpResponse?>(nil)
        tunnels.append((wake.tunnel, state))
        if tunnels.count > Self.maximumTunnels { tunnels.removeFirst() }
        let response = await answer(request, label)
        state.change { $0 = response }
        return response
    }

    /// Returns the response as soon as it is known.
    private static func value(of state: AwaitableState<WakeUpResponse?>) async -> WakeUpResponse {
        while !Task.isCancelled {
            if let response = state.read({ $0 }) { return response }
            await state.wait { $0 != nil }
        }
        return .none
    }

    /// Returns a wake-up that is proved, in time and not counted before; `nil` for any other.
    private func verified(_ wake: ContactWakeUp, for id: LinkID) -> (VerifiedWakeUp, label: String)? {
        do throws(CommandFailure) {
            guard let record = try store.record(id), let link = record.link, let activity = record.activity else {
                reportIgnored("the link was removed", label: nil)
                return nil
            }
            guard let request = VerifiedWakeUp(wake, for: link) else {
                reportIgnored("no proof that the computer sent it", label: record.label)
                return nil
            }
            guard isInTime(request.claims) else {
                reportIgnored("it is old, or the clocks of both devices differ", label: record.label)
                return nil
            }
            guard activity.numbers.isNew(request.claims.number) else {
                reportIgnored("it was repeated", label: record.label)
                return nil
            }
            return (request, record.label)
        } catch {
            reportIgnored(error.sentence, label: nil)
            return nil
        }
    }

    private func isInTime(_ claims: ContactClaims) -> Bool {
        let now = clock.now()
        return max(now, claims.time) - min(now, claims.time) <= Self.maximumAge
    }

    private func reportIgnored(_ reason: String, label: String?) {
        guard let line = lines[label ?? "", default: RepeatedLines()].line(reason) else { return }
        report(.ignored(label: label, reason: line))
    }

    private func answer(_ request: VerifiedWakeUp, _ label: String) async -> WakeUpResponse {
        if let reason = refusal(of: request) {
            report(.refused(label: label, reason: reason))
            return .decline
        }
        // Counted only now: a request that was refused may be delivered again while it is in time.
        let number = request.claims.number
        let isNew = try? store.change(request.link.id) { record in
            record.change { $0.numbers.count(number) } ?? false
        }
        guard isNew == true else {
            reportIgnored("it was repeated, or the link can't be stored", label: label)
            return .ignored
        }
        isBusy = true
        defer { isBusy = false }
        let limit = Duration.seconds(min(max(request.wake.seconds, 1), 120))
        let requester = request.claims.requester
        let question = WakeUpQuestion(label: label, hint: request.hint, requester: requester, limit: limit)
        report(.asking(label: label, request.hint))
        let decision = await request.decision { _ in await ask(question) }
        report(.answered(label: label, decision.answer))
        switch decision {
        case .unanswered: return .none
        case .declined:
            recordDecline(of: request, label)
            return .decline
        case .approved(let approved):
            let now = clock.now()
            _ = try? store.change(request.link.id) { (record) -> Void in _ = record.change { $0.lastUsed = now } }
            await perform(approved, label)
            return .none
        }
    }

    /// Returns the reason why a verified wake-up is declined without a question; `nil` if the user is asked.
    private func refusal(of request: VerifiedWakeUp) -> String? {
        guard isWithinRate(request.link.id) else { return "too many requests in a minute" }
        guard let activity = (try? store.record(request.link.id))?.activity else { return "the link was removed" }
        guard !activity[request.claims.requester].isMuted else { return "requests of this kind are muted" }
        return isBusy ? "another request is in progress" : nil
    }

    private func isWithinRate(_ id: LinkID) -> Bool {
        let now = clock.now()
        // Also of other links, because those may be forgotten and never ask again.
        times = times.mapValues { $0.filter { $0 <= now && now - $0 < 60 } }.filter { !$0.value.isEmpty }
        let recent = times[id, default: []]
        guard recent.count < Self.maximumPerMinute else { return false }
        times[id] = recent + [now]
        return true
    }

    private func recordDecline(of request: VerifiedWakeUp, _ label: String) {
        let (now, requester) = (clock.now(), request.claims.requester)
        let isMuted = try? store.change(request.link.id) { record in
            record.change { $0[requester].add(at: now) } ?? false
        }
        if isMuted == true { report(.muted(label: label, requester)) }
    }
}
