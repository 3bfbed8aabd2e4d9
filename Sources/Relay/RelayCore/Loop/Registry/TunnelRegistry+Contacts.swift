// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives
internal import HybridThreads
internal import Metrics
internal import NIOCore

// Clients that contact phones, and phones that listen.
extension TunnelRegistry {
    /// Numbers of open and waiting tunnels, of phones that listen, of held requests, and of all wake-ups.
    typealias Counts = (open: Int, waiting: Int, listeners: Int, held: Int, wakeUps: Int)

    /// The current numbers.
    var counts: Counts { state.withLock { $0.counts } }

    /// Opens a tunnel for a client that contacts a phone.
    ///
    /// The tunnel ID is random, so only the phone that receives the wake-up can join.
    func requestContact(
        _ contact: ContactID,
        of request: UpgradeRequest,
        by client: TunnelMember,
        now: NIODeadline
    ) throws(UpgradeRefusal) -> UpgradeResult {
        guard let digest = ContactDigest(contact) else { throw .foreignContact }
        guard let payload = request.payload else { throw .malformedPayload }
        // A push contact has no listener, and each node would send a message.
        let peeks = contact.kind == .listener ? request.peeks : 0
        var generator = SystemRandomNumberGenerator()
        let tunnel = TunnelID(using: &generator)
        let check = UInt8.random(in: .min ... .max, using: &generator)
        do throws(UpgradeRefusal) {
            let (key, instructions, count) = try state.withLock { state throws(UpgradeRefusal) in
                if peeks > 0, state.contacts.isElsewhere(digest, payload, peeks: peeks, now: now) {
                    throw .listenerElsewhere
                }
                if let refusal = state.contacts.refusal(of: digest, now: now) { throw refusal }
                guard let key = state.table.open(tunnel, by: client, as: .client, check: check, now: now)?.key else {
                    throw .full
                }
                let instructions = state.contacts.addRequest(
                    for: digest,
                    payload,
                    in: key,
                    by: client,
                    isPushed: contact.kind == .push,
                    now: now
                )
                return (key, instructions, state.table.count)
            }
            recordOpening(count: count)
            return .contacting(key, instructions)
        } catch {
            if let outcome = WakeUpOutcome(of: error) { contactMetrics.record(outcome) }
            throw error
        }
    }

    /// True if a client has contacted the same phone with the same payload before, as in a replay of early data.
    func isReplay(_ request: UpgradeRequest) -> Bool {
        guard case .contact(let contact) = request.path, let digest = ContactDigest(contact),
            let payload = request.payload
        else { return false }
        return state.withLock { $0.contacts.hasReceived(payload, for: digest) }
    }

    /// Accepts the client of a wake-up that a push server has accepted, or ends its tunnel otherwise.
    ///
    /// A tunnel that the phone has joined meanwhile goes on, whatever the push server answers. Called on any thread, so
    /// the event loops get their instructions through their mailboxes.
    func recordPush(_ key: TunnelIdentity, _ outcome: PushOutcome) {
        if let refusal = UpgradeRefusal(outcome) {
            let instructions = endRequests(.undelivered(refusal)) { $0.isPushing(key) ? [key] : [] }
            for instruction in instructions { instruction.post() }
        } else if let instruction = state.withLock({ $0.contacts.recordPush(key) }) {
            instruction.member.mailbox.post(.contact(instruction.member.connection, instruction.order))
        }
    }

    /// Adds a connection that has proven its contact ID.
    func listen(
        for contact: ContactDigest,
        by member: TunnelMember
    ) -> (id: ListenerID, instructions: [ContactTable<TunnelMember>.Instruction]) {
        let (added, counts) = state.withLock { ($0.contacts.listen(for: contact, by: member), $0.counts) }
        contactMetrics.record(listeners: counts.listeners, held: counts.held)
        if added.instructions.contains(where: \.isReplacement) { contactMetrics.replaced.increment() }
        return added
    }

    /// Removes a listener whose connection closes.
    func stopListening(for contact: ContactDigest, _ id: ListenerID) {
        state.withLock { $0.contacts.stopListening(for: contact, id) }
    }

    /// Ends the tunnel of the client whose request a phone declines; a wake-up that has ended is ignored.
    func decline(
        _ number: UInt32,
        for contact: ContactDigest,
        by id: ListenerID
    ) -> [TunnelTable<TunnelMember>.CloseInstruction] {
        endRequests(.declined) { $0.declined(number, for: contact, by: id).map { [$0] } ?? [] }
    }

    /// Records a revocation, whose signature the caller has verified, and ends all requests for the contact ID.
    func revoke(
        _ contact: ContactDigest,
        with revocation: Revocation
    ) -> [TunnelTable<TunnelMember>.CloseInstruction] {
        endRequests(.revoked(.contactGone(revocation))) { $0.revoke(contact, with: revocation) }
    }

    /// Ends the tunnels that the contact table returns.
    private func endRequests(
        _ reason: TunnelEndReason,
        _ keys: (inout ContactTable<TunnelMember>) -> [TunnelIdentity]
    ) -> [TunnelTable<TunnelMember>.CloseInstruction] {
        let (closeInstructions, outcomes) = state.withLock { state in
            var closeInstructions: [TunnelTable<TunnelMember>.CloseInstruction] = []
            for key in keys(&state.contacts) { closeInstructions += state.table.end(key, reason) }
            return (closeInstructions, state.settleWaits())
        }
        for outcome in outcomes { contactMetrics.record(outcome) }
        return closeInstructions
    }
}

extension TunnelRegistry.State {
    /// The numbers of tunnels, listeners and wake-ups.
    var counts: TunnelRegistry.Counts {
        (table.count, table.waitingCount, contacts.listenerCount, contacts.heldCount, contacts.wakeUpCount)
    }

    /// Removes the wake-ups whose tunnels wait no longer, and returns their outcomes.
    mutating func settleWaits() -> [WakeUpOutcome] {
        guard !table.endedWaits.isEmpty else { return [] }
        return table.takeEndedWaits().compactMap { key, reason in
            contacts.remove(key).map { WakeUpOutcome(of: $0, endedFor: reason) }
        }
    }
}

/// Metrics of phones that listen and of wake-ups, none of which identifies a phone.
struct ContactMetrics: Sendable {
    let replaced = Counter(label: "hybrid_relay_listeners_replaced_total")
    let revocations = Gauge(label: "hybrid_relay_revocations")
    private let listeners = Gauge(label: "hybrid_relay_listeners")
    private let held = Gauge(label: "hybrid_relay_contacts_held")
    private let wakeUps = Dictionary(
        uniqueKeysWithValues: WakeUpOutcome.allCases.map { outcome in
            (outcome, Counter(label: "hybrid_relay_wakeups_total", dimensions: [("outcome", outcome.rawValue)]))
        }
    )

    init() {
        record(listeners: 0, held: 0)
        revocations.record(0)
    }

    /// Records the current numbers.
    func record(listeners: Int, held: Int) {
        self.listeners.record(listeners)
        self.held.record(held)
    }

    /// Counts a wake-up that has ended.
    func record(_ outcome: WakeUpOutcome) { wakeUps[outcome]?.increment() }
}
