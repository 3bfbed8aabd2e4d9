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
    /// The time to answer.
    package let limit: Duration
}

/// The response to the relay after a wake-up.
package enum WakeUpResponse: Hashable, Sendable {
    /// Nothing is sent.
    case none
    /// The wake-up is declined, so that the computer falls back to a code at once.
    case decline
}

/// The decisions about wake-ups: which ones reach the user, and what follows.
///
/// A wake-up passes these checks in order. No step before the user's tap uses a radio or a network.
///
/// 1. It names the link of its connection, and its proof verifies. A relay cannot fake that.
/// 2. Its nonce is new and is stored before the user is asked. A wake-up that the relay delivers again after a
///    reconnection has the same tunnel, and does not count twice.
/// 3. The link is not muted, there were at most six wake-ups in a minute, and no other ceremony is in progress.
/// 4. The user taps. Three declines within ten minutes mute the link.
///
/// A relay that fails the first two checks gets no response, so that it learns nothing and cannot mute a link.
package actor WakeUpHandler {
    /// An event for the log.
    package enum Event: Hashable, Sendable {
        /// A wake-up was ignored; the text is the reason.
        case ignored(label: String?, reason: String)
        /// A wake-up was declined without a question; the text is the reason.
        case refused(label: String, reason: String)
        /// The user is asked.
        case asking(label: String, RequestHint)
        /// The user answered, or did not.
        case answered(label: String, WakeUpAnswer)
        /// The link is muted after three declines.
        case muted(label: String)
    }

    /// Maximum number of wake-ups of a link in a minute.
    static let maximumPerMinute = 6
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
        guard let (request, label) = admit(wake, for: id) else { return .none }
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

    /// Returns a verified wake-up whose nonce was stored; `nil` for any other.
    private func admit(_ wake: ContactWakeUp, for id: LinkID) -> (VerifiedWakeUp, label: String)? {
        do throws(CommandFailure) {
            guard let record = try store.record(id), let link = record.link else {
                report(.ignored(label: nil, reason: "the link was removed"))
                return nil
            }
            guard let request = VerifiedWakeUp(wake, for: link) else {
                report(.ignored(label: record.label, reason: "no proof that the computer sent it"))
                return nil
            }
            let isNew = try store.change(id) { record in record.change { $0.nonces.insert(request.nonce) } ?? false }
            guard isNew == true else {
                report(.ignored(label: record.label, reason: "it was repeated"))
                return nil
            }
            return (request, record.label)
        } catch {
            report(.ignored(label: nil, reason: error.sentence))
            return nil
        }
    }

    private func answer(_ request: VerifiedWakeUp, _ label: String) async -> WakeUpResponse {
        if let reason = refusal(of: request.link.id) {
            report(.refused(label: label, reason: reason))
            return .decline
        }
        isBusy = true
        defer { isBusy = false }
        let limit = Duration.seconds(min(max(request.wake.seconds, 1), 120))
        let question = WakeUpQuestion(label: label, hint: request.hint, limit: limit)
        report(.asking(label: label, request.hint))
        let decision = await request.decision { _ in await ask(question) }
        report(.answered(label: label, decision.answer))
        switch decision {
        case .unanswered: return .none
        case .declined:
            recordDecline(of: request.link.id, label)
            return .decline
        case .approved(let approved):
            let now = clock.now()
            _ = try? store.change(request.link.id) { (record) -> Void in _ = record.change { $0.lastUsed = now } }
            await perform(approved, label)
            return .none
        }
    }

    /// Returns the reason why a verified wake-up is declined without a question; `nil` if the user is asked.
    private func refusal(of id: LinkID) -> String? {
        guard isWithinRate(id) else { return "too many requests in a minute" }
        guard let activity = (try? store.record(id))?.activity else { return "the link was removed" }
        guard !activity.isMuted else { return "the computer is muted" }
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

    private func recordDecline(of id: LinkID, _ label: String) {
        let now = clock.now()
        let isMuted = try? store.change(id) { record in record.change { $0.decline(at: now) } ?? false }
        if isMuted == true { report(.muted(label: label)) }
    }
}
