// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCaBLE
internal import HybridPrimitives
internal import HybridThreads
internal import Metrics
internal import NIOCore

/// The relay's way to phones that have a push subscription: encrypted contact IDs, and messages for push servers.
///
/// Event loops only hand over messages. Encryption and requests run in tasks, whose number `PushPlaces` limits.
/// Further messages are refused at once, so nothing waits in a queue.
public final class PushGateway: Sendable {
    /// Maximum number of push servers whose tokens are remembered.
    private static let maximumTokens = 4096
    /// Lifetime of a contact ID in seconds.
    static let contactLifetime: UInt64 = 400 * 86_400
    /// Time for which a token for a push server is used, in seconds; half of its lifetime (RFC 8292 §2).
    static let tokenUse: UInt64 = 12 * 3600

    fileprivate struct State {
        var limits: RelayLimits
        var places = PushPlaces()
        /// The values of `Authorization` by push server, and the times in seconds since 1970 when they were made.
        var tokens: [String: (value: String, made: UInt64)] = [:]
        /// The messages on their way, with their tasks once these have started.
        var pending: [UInt64: Task<Void, Never>?] = [:]
        var lastID: UInt64 = 0
        var isDraining = false
    }

    private let keys: PushKeys
    private let subject: String
    private let host: String
    private let transport: any PushClient
    private let clock: WallClock
    private let state: Locked<State>
    private let metrics = PushMetrics()

    /// Creates a gateway.
    ///
    /// - Parameters:
    ///   - keys: The relay's keys.
    ///   - subject: `mailto:` or `https:` URL at which operators of push servers reach the relay's operator.
    ///   - host: The relay's contact host, for which alone its contact IDs are valid.
    ///   - transport: The client for push servers.
    public convenience init(keys: PushKeys, subject: String, host: String, transport: any PushClient) {
        self.init(keys: keys, subject: subject, host: host, transport: transport, clock: .realtime)
    }

    /// Creates a gateway with its own clock.
    init(keys: PushKeys, subject: String, host: String, transport: any PushClient, clock: WallClock) {
        (self.keys, self.subject, self.host) = (keys, subject, host)
        (self.transport, self.clock) = (transport, clock)
        state = Locked(State(limits: RelayLimits()))
    }

    /// The public key that phones name when they subscribe.
    var publicKey: PushPublicKey { keys.vapid.publicKey }

    /// Replaces the limits, from the next message on.
    func replace(limits: RelayLimits) { state.withLock { $0.limits = limits } }

    // MARK: Contact IDs

    /// Returns the reason why a subscription can get no contact ID; `nil` if it can, once the phone has proven it.
    func objection(to subscription: PushSubscription) -> UnsealedReason? {
        guard subscription.endpoint.utf8.count <= PushContactIDKeys.maximumEndpointLength else {
            return .endpointTooLong
        }
        return transport.origin(of: subscription.endpoint) == nil ? .endpointNotAllowed : nil
    }

    /// Returns the contact ID of a subscription with its expiry; `nil` if the endpoint is not allowed or too long.
    func contact(of subscription: PushSubscription) -> (id: ContactID, expiry: Int)? {
        let expiry = UInt32(clamping: clock.now() + Self.contactLifetime)
        guard let id = keys.contacts.seal(subscription, host: host, expiry: expiry) else { return nil }
        return (id, Int(expiry))
    }

    /// Returns the subscription in a contact ID; `nil` if this relay did not issue the ID, or if it has expired.
    func subscription(of contact: ContactID) -> PushSubscription? {
        keys.contacts.open(contact, host: host, now: clock.now())
    }

    // MARK: Messages

    /// Sends a message to a phone.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - subscription: The phone's subscription.
    ///   - topic: Bytes that identify what the message is about; a push server drops an older message with the same
    ///     topic that it has not delivered.
    ///   - party: Number of the party that caused the message; `nil` if it has no limits.
    ///   - now: The current time.
    ///   - completion: Called once on any thread, maybe before this method returns.
    func send(
        _ message: PushMessage,
        to subscription: PushSubscription,
        topic: [UInt8],
        party: Int? = nil,
        now: NIODeadline,
        completion: @escaping @Sendable (PushOutcome) -> Void
    ) {
        guard let origin = transport.origin(of: subscription.endpoint) else { return report(.notPermitted, completion) }
        let place = PushPlaces.Request(origin: origin, party: party, isProof: message.isProof)
        let admitted = state.withLock { $0.admit(place, now: now) }
        switch admitted {
        case .failure(let refusal): report(refusal.outcome, completion)
        case .success(let id):
            let task = Task {
                let body = PushEncryption.encrypt(message, for: subscription)
                let fields = fields(origin: origin, topic: topic)
                let request = PushRequest(
                    endpoint: subscription.endpoint,
                    fields: fields,
                    body: body,
                    party: party,
                    isProof: place.isProof
                )
                // A drain may cancel this, but the message may have left: no answer may invite a load balancer to repeat it.
                let outcome = PushOutcome(await transport.post(request))
                let count = state.withLock { $0.remove(id, place) }
                metrics.record(pending: count)
                report(outcome, completion)
            }
            let (isDraining, count) = state.withLock { state in
                if state.pending[id] != nil { state.pending[id] = .some(task) }
                return (state.isDraining, state.pending.count)
            }
            if isDraining { task.cancel() }
            metrics.record(pending: count)
        }
    }

    /// Ends all messages on their way, and refuses further ones.
    func drain() {
        let tasks = state.withLock { state in
            state.isDraining = true
            return state.pending.values.compactMap(\.self)
        }
        for task in tasks { task.cancel() }
    }

    private func report(_ outcome: PushOutcome, _ completion: (PushOutcome) -> Void) {
        metrics.record(outcome)
        completion(outcome)
    }

    /// Returns the header fields of a request (RFC 8030 §5, RFC 8188, RFC 8292 §3).
    private func fields(origin: String, topic: [UInt8]) -> [(String, String)] {
        [
            // The client of the phone's user waits for at most two minutes.
            ("TTL", "60"), ("Urgency", "high"),
            ("Topic", Base64URL.encode(SHA256.hash(data: topic).prefix(24))),
            ("Content-Encoding", "aes128gcm"), ("Content-Type", "application/octet-stream"),
            ("Authorization", token(for: origin)),
        ]
    }

    /// Returns the value of `Authorization`, which is made again after ``tokenUse``.
    private func token(for origin: String) -> String {
        let now = clock.now()
        if let token = state.withLock({ $0.tokens[origin] }), token.made <= now, now - token.made < Self.tokenUse {
            return token.value
        }
        let expiry = Int(clamping: now + 2 * Self.tokenUse - 600)
        let value = keys.vapid.authorization(origin: origin, subject: subject, expiry: expiry)
        state.withLock { state in
            if state.tokens.count >= Self.maximumTokens { state.tokens = [:] }
            state.tokens[origin] = (value, now)
        }
        return value
    }
}

extension PushMessage {
    /// True for a message whose receiver has not proven that it wants messages.
    fileprivate var isProof: Bool {
        if case .proof = self { true } else { false }
    }
}

extension PushGateway.State {
    /// A reason for refusing a message, as an error.
    struct Refusal: Error {
        let outcome: PushOutcome
    }

    /// Counts a message and returns its number, or returns the reason for refusing it.
    mutating func admit(_ request: PushPlaces.Request, now: NIODeadline) -> Result<UInt64, Refusal> {
        guard !isDraining else { return .failure(Refusal(outcome: .canceled)) }
        guard places.admit(request, perMinuteAndHost: limits.pushesPerMinuteAndHost, now: now) else {
            return .failure(Refusal(outcome: .limited))
        }
        lastID += 1
        pending[lastID] = .some(nil)
        return .success(lastID)
    }

    /// Removes a message that has been answered, and returns the number of those that remain.
    mutating func remove(_ id: UInt64, _ request: PushPlaces.Request) -> Int {
        pending.removeValue(forKey: id)
        places.remove(request)
        return pending.count
    }
}

/// Metrics of messages to push servers, none of which identifies a phone or a push server.
private struct PushMetrics: Sendable {
    private let outcomes = Dictionary(
        uniqueKeysWithValues: PushOutcome.allCases.map { outcome in
            (outcome, Counter(label: "hybrid_relay_pushes_total", dimensions: [("outcome", outcome.rawValue)]))
        }
    )
    private let pending = Gauge(label: "hybrid_relay_pushes_pending")

    init() { record(pending: 0) }

    func record(pending count: Int) { pending.record(count) }

    func record(_ outcome: PushOutcome) { outcomes[outcome]?.increment() }
}
