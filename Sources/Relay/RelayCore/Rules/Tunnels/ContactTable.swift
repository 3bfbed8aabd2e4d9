// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCaBLE
internal import HybridPrimitives
internal import NIOCore

/// The part of a phone's contact ID that differs from other contact IDs: 24 bytes of a hash, without an array.
struct ContactDigest: Hashable, Sendable, SecretMaterial {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64

    /// Creates the digest of a contact ID; `nil` for the contact ID of another vendor's relay.
    ///
    /// The contact ID of a push subscription is hashed. No key has a contact ID with the same hash.
    init?(_ contact: ContactID) {
        let hash: [UInt8]
        switch contact.kind {
        case .listener: hash = Array(contact.bytes.dropFirst())
        case .push: hash = Array(SHA256.hash(data: contact.bytes).prefix(24))
        case .foreign: return nil
        }
        var words: [UInt64] = [0, 0, 0]
        for (index, byte) in hash.enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(byte)
        }
        (first, second, third) = (words[0], words[1], words[2])
    }
}

/// A client's request that wakes a phone, as the phone's connection receives it.
struct WakeUp: Sendable {
    /// The number by which the phone declines the request; unique while the contact ID has other wake-ups.
    let number: UInt32
    /// The tunnel in which the client waits.
    let key: TunnelIdentity
    /// The bytes that the client sent for the phone.
    let payload: ClientPayload
    /// Time when the client's tunnel ends if the phone has not joined it.
    let deadline: NIODeadline
}

/// An order from the contact table to a connection.
enum ContactInstruction: Sendable {
    /// The request of a client is accepted, so the client gets its response.
    case accept
    /// A wake-up for a phone.
    case wake(WakeUp)
    /// A newer connection of the same phone has replaced this one.
    case replaced

    /// True if the connection continues with input that it has not processed yet.
    var continuesInput: Bool {
        if case .accept = self { true } else { false }
    }
}

/// The result of a wake-up, which determines the metric label.
enum WakeUpOutcome: String, CaseIterable, Sendable {
    /// The phone joined the client's tunnel.
    case joined
    /// The phone declined, or revoked its contact ID.
    case declined
    /// The phone did neither before the client left or the time was over.
    case unanswered
    /// No phone was listening.
    case noListener = "no_listener"
    /// The contact ID had been requested too often.
    case limited
    /// The push server did not accept the message for the phone.
    case undelivered
    /// The contact ID was revoked, or the push server does not know the phone any more.
    case gone

    /// Creates the outcome of a request that was refused; `nil` if it says nothing about the contact ID.
    init?(of refusal: UpgradeRefusal) {
        switch refusal.status {
        case 410: self = .gone
        case 429: self = .limited
        default: return nil
        }
    }

    /// Creates the outcome of a wake-up in a state whose tunnel ended for a reason; `nil` means that the phone joined.
    init(of state: WakeUpState, endedFor reason: TunnelEndReason?) {
        switch (state, reason) {
        case (.awaitingListener, .revoked): self = .gone
        case (_, .declined), (_, .revoked): self = .declined
        case (_, .undelivered(.pushGone)): self = .gone
        case (_, .undelivered): self = .undelivered
        case (.awaitingListener, _): self = .noListener
        case (.pushing, nil), (.ringing, nil): self = .joined
        case (.pushing, _), (.ringing, _): self = .unanswered
        }
    }
}

/// The state of a wake-up that has not ended.
enum WakeUpState: Hashable, Sendable {
    /// No phone is listening, and the client has no response.
    case awaitingListener(until: NIODeadline)
    /// The wake-up is on its way to a push server, which has not answered, and the client has no response.
    case pushing(until: NIODeadline)
    /// The client has its response, and a phone or a push server has received the wake-up.
    case ringing

    /// The time until which the client waits for a response; `nil` if it has one.
    var waitsUntil: NIODeadline? {
        switch self {
        case .awaitingListener(let until), .pushing(let until): until
        case .ringing: nil
        }
    }
}

/// Number of a connection that listens; a newer connection has a higher number.
struct ListenerID: Hashable, Sendable { fileprivate let number: UInt64 }

/// The phones that listen, and the wake-ups for them: a pure state machine without sockets, clock or randomness.
///
///     request, no listener              listen                 connect
///     ──────────────→ awaiting listener ─────────→ ringing ──────────────→ (joined)
///     request, listener    │                        ↑    │
///     ─────────────────────┼────────────────────────┘    └─ declined, revoked, unanswered ─→ (removed)
///                          └─ 8 s over (noListener), revoked, abandoned, draining ─────────→ (removed)
///
///     request, push contact          push server accepts
///     ────────────────────→ pushing ─────────────────────→ ringing
///                             │  └─ connect ──→ (joined)
///                             └─ refused by the push server (undelivered, gone), 8 s over, abandoned ─→ (removed)
///
/// A phone with a push subscription does not listen. It may join before the push server has answered.
///
/// A request is held while its client has no response: it awaits a listener or the answer of a push server.
///
/// A phone's connection is in the table from the proof of its contact ID until it closes or is replaced. The newest one
/// replaces the older one of the same contact ID. It receives all wake-ups that await a listener, and once more all that are
/// ringing, because the older connection may have been dead. So no listener gets a wake-up twice, and none is lost.
///
/// Each wake-up has a tunnel of its own in ``TunnelTable``, opened by the client. The end of the tunnel's wait, for
/// whatever reason, removes the wake-up: the caller reports it with ``remove(_:)``. The table itself ends no tunnel. It
/// returns the keys of those that have to end.
///
/// *Memory.* A contact ID has an entry while it has wake-ups, and until its rate limit no longer matters. Wake-ups are
/// bounded by the relay's tunnels. At most ``rememberedContacts`` entries without wake-ups stay. A listener takes about
/// 100 bytes here.
struct ContactTable<Member: Sendable>: Sendable {
    /// An order for a connection.
    struct Instruction: Sendable {
        let member: Member
        let order: ContactInstruction

        /// True if a newer listener replaces an older one.
        var isReplacement: Bool {
            if case .replaced = order { true } else { false }
        }
    }

    private struct Listener {
        let id: ListenerID
        let member: Member
    }

    private struct Entry {
        let wakeUp: WakeUp
        let client: Member
        var state: WakeUpState
    }

    private struct Contact {
        /// In the order of the requests.
        var entries: [Entry] = []
        var lastNumber: UInt32 = 0
        var bucket = RateBucket()
        /// Hashes of the latest payloads, each of which has a nonce.
        var payloads: [Int] = []
    }

    /// Maximum number of payloads that are remembered for each contact ID.
    private static var rememberedPayloads: Int { 16 }
    /// Maximum number of contact IDs without wake-ups that are remembered because of their rate limit.
    static var rememberedContacts: Int { 10_000 }

    /// The limits; a change takes effect with the next call.
    var limits: RelayLimits { didSet { revocations.capacity = limits.revocations } }
    private var listeners: [ContactDigest: Listener] = [:]
    private var contacts: [ContactDigest: Contact] = [:]
    /// The contact IDs of all wake-ups.
    private var contactOfKey: [TunnelIdentity: ContactDigest] = [:]
    private var revocations: RevocationTable
    private var peeks = ContactPeeks()
    private var lastListener: UInt64 = 0
    /// A time before all deadlines; an earlier sweep does nothing.
    private var nothingDueBefore = NIODeadline.distantFuture

    /// Number of held requests.
    private(set) var heldCount = 0

    /// Creates an empty table.
    init(limits: RelayLimits) {
        self.limits = limits
        revocations = RevocationTable(capacity: limits.revocations)
    }

    /// Number of phones that listen.
    var listenerCount: Int { listeners.count }
    /// Number of revoked contact IDs that are remembered.
    var revocationCount: Int { revocations.count }
    /// Number of wake-ups that have not ended.
    var wakeUpCount: Int { contactOfKey.count }
    /// Number of contact IDs that have an entry, without those that only have a listener.
    var contactCount: Int { contacts.count }

    private var rate: EventRate { EventRate(perMinute: limits.wakeUpsPerMinute, burst: limits.wakeUpBurst) }

    // MARK: Listeners

    /// Adds a connection that has proven its contact ID, and delivers the contact ID's wake-ups to it.
    ///
    /// Each client is accepted before the phone learns the IDs with which it can join.
    mutating func listen(
        for contact: ContactDigest,
        by member: Member
    ) -> (id: ListenerID, instructions: [Instruction]) {
        lastListener += 1
        let id = ListenerID(number: lastListener)
        var instructions: [Instruction] = []
        if let older = listeners.updateValue(Listener(id: id, member: member), forKey: contact) {
            instructions.append(Instruction(member: older.member, order: .replaced))
        }
        guard let place = contacts.index(forKey: contact) else { return (id, instructions) }
        for index in contacts.values[place].entries.indices {
            let entry = contacts.values[place].entries[index]
            if case .awaitingListener = entry.state {
                heldCount -= 1
                contacts.values[place].entries[index].state = .ringing
                instructions.append(Instruction(member: entry.client, order: .accept))
            }
            instructions.append(Instruction(member: member, order: .wake(entry.wakeUp)))
        }
        return (id, instructions)
    }

    /// Removes a listener whose connection closes; its wake-ups keep ringing.
    mutating func stopListening(for contact: ContactDigest, _ id: ListenerID) {
        if listeners[contact]?.id == id { listeners[contact] = nil }
    }

    // MARK: Wake-ups

    /// Returns the reason for refusing a request for a contact ID; `nil` if it can be added.
    mutating func refusal(of contact: ContactDigest, now: NIODeadline) -> UpgradeRefusal? {
        if let revocation = revocations[contact] { return .contactGone(revocation) }
        if let bucket = contacts[contact]?.bucket, !bucket.hasRoom(for: rate, now: now) { return .tooManyWakeUps }
        return listeners[contact] != nil || heldCount < limits.heldContacts ? nil : .full
    }

    /// Returns true if the contact ID has had a wake-up with this payload while its rate limit matters.
    func hasReceived(_ payload: ClientPayload, for contact: ContactDigest) -> Bool {
        contacts[contact]?.payloads.contains(payload.hashValue) == true
    }

    /// Returns true if a load balancer's contact is to be answered at once, because the phone does not listen here.
    ///
    /// The load balancer then tries another node. Nothing is woken, and the request does not count.
    mutating func isElsewhere(
        _ contact: ContactDigest,
        _ payload: ClientPayload,
        peeks times: UInt8,
        now: NIODeadline
    ) -> Bool {
        guard listeners[contact] == nil, revocations[contact] == nil else { return false }
        return peeks.answersAtOnce(contact, payload: payload.hashValue, times: times, now: now)
    }

    /// Adds a wake-up for a request that ``refusal(of:now:)`` allows, and delivers it if the phone listens.
    ///
    /// - Parameters:
    ///   - contact: The requested contact ID.
    ///   - payload: The bytes for the phone.
    ///   - key: The tunnel of the client, which must not be in use.
    ///   - client: The connection of the client.
    ///   - isPushed: True if the caller sends the wake-up to a push server.
    ///   - now: The current time.
    mutating func addRequest(
        for contact: ContactDigest,
        _ payload: ClientPayload,
        in key: TunnelIdentity,
        by client: Member,
        isPushed: Bool = false,
        now: NIODeadline
    ) -> [Instruction] {
        var entry = contacts[contact] ?? Contact()
        entry.bucket.take(1, of: rate, now: now)
        entry.lastNumber &+= 1
        entry.payloads = entry.payloads.suffix(Self.rememberedPayloads - 1) + [payload.hashValue]
        let wakeUp = WakeUp(number: entry.lastNumber, key: key, payload: payload, deadline: now + limits.waiting)
        let listener = isPushed ? nil : listeners[contact]
        let heldUntil = now + limits.contactHold
        var state = WakeUpState.ringing
        if listener == nil { state = isPushed ? .pushing(until: heldUntil) : .awaitingListener(until: heldUntil) }
        entry.entries.append(Entry(wakeUp: wakeUp, client: client, state: state))
        contacts[contact] = entry
        contactOfKey[key] = contact
        guard let listener else {
            heldCount += 1
            nothingDueBefore = min(nothingDueBefore, heldUntil)
            return []
        }
        return [
            Instruction(member: client, order: .accept), Instruction(member: listener.member, order: .wake(wakeUp)),
        ]
    }

    /// Returns true if the phone may join the tunnel of a wake-up, because it may have received the wake-up.
    func canJoin(_ key: TunnelIdentity) -> Bool {
        switch entry(of: key)?.state {
        case .pushing, .ringing: true
        case .awaitingListener, nil: false
        }
    }

    /// Returns true if the push server has not answered, and the phone has not joined.
    func isPushing(_ key: TunnelIdentity) -> Bool {
        if case .pushing? = entry(of: key)?.state { true } else { false }
    }

    /// Accepts the client of a wake-up that a push server has accepted; `nil` if the wake-up no longer waits for it.
    mutating func recordPush(_ key: TunnelIdentity) -> Instruction? {
        guard let contact = contactOfKey[key], let place = contacts.index(forKey: contact),
            let index = contacts.values[place].entries.firstIndex(where: { $0.wakeUp.key == key }),
            case .pushing = contacts.values[place].entries[index].state
        else { return nil }
        heldCount -= 1
        contacts.values[place].entries[index].state = .ringing
        return Instruction(member: contacts.values[place].entries[index].client, order: .accept)
    }

    /// Returns the tunnel of the wake-up that a listener declines.
    ///
    /// It is `nil` if the wake-up has ended, or if another connection listens now.
    func declined(_ number: UInt32, for contact: ContactDigest, by id: ListenerID) -> TunnelIdentity? {
        guard listeners[contact]?.id == id else { return nil }
        return contacts[contact]?.entries.first { $0.wakeUp.number == number && $0.state == .ringing }?.wakeUp.key
    }

    /// Removes the wake-up of a tunnel that no longer waits, and returns its last state; `nil` if there is none.
    mutating func remove(_ key: TunnelIdentity) -> WakeUpState? {
        guard let contact = contactOfKey.removeValue(forKey: key), let place = contacts.index(forKey: contact),
            let index = contacts.values[place].entries.firstIndex(where: { $0.wakeUp.key == key })
        else { return nil }
        let state = contacts.values[place].entries.remove(at: index).state
        if state.waitsUntil != nil { heldCount -= 1 }
        guard contacts.values[place].entries.isEmpty else { return state }
        if contacts.count > Self.rememberedContacts {
            contacts.remove(at: place)
        } else {
            nothingDueBefore = min(nothingDueBefore, contacts.values[place].bucket.fullAt)
        }
        return state
    }

    private func entry(of key: TunnelIdentity) -> Entry? {
        guard let contact = contactOfKey[key] else { return nil }
        return contacts[contact]?.entries.first { $0.wakeUp.key == key }
    }

    // MARK: Revocations

    /// Records a revocation, whose signature the caller has verified, and returns the tunnels that have to end.
    mutating func revoke(_ contact: ContactDigest, with revocation: Revocation) -> [TunnelIdentity] {
        revocations.insert(revocation, for: contact)
        return contacts[contact]?.entries.map(\.wakeUp.key) ?? []
    }

    // MARK: Sweep

    /// Returns the tunnels whose requests have been held for too long, and drops entries that no longer matter.
    mutating func sweep(now: NIODeadline) -> [TunnelIdentity] {
        guard now >= nothingDueBefore else { return [] }
        var due: [TunnelIdentity] = []
        var next = NIODeadline.distantFuture
        var idle: [ContactDigest] = []
        for (digest, contact) in contacts {
            if contact.entries.isEmpty {
                if contact.bucket.fullAt <= now { idle.append(digest) } else { next = min(next, contact.bucket.fullAt) }
            }
            for entry in contact.entries {
                guard let until = entry.state.waitsUntil else { continue }
                if until <= now { due.append(entry.wakeUp.key) } else { next = min(next, until) }
            }
        }
        for digest in idle { contacts[digest] = nil }
        nothingDueBefore = next
        return due
    }
}
