// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads
internal import Logging
internal import Metrics
internal import NIOCore

/// A counted connection, which ``AdmissionControl/removeConnection(_:)`` stops counting.
struct AdmittedConnection: Sendable {
    /// The source; `nil` if it is not limited.
    fileprivate let source: SourcePrefix?
    /// True once the connection has been admitted as a phone, or as a client that opens a tunnel to contact one.
    fileprivate(set) var isPhone = false
    /// True once the connection has been admitted as a phone that listens.
    fileprivate(set) var isListener = false
    /// True while the connection counts as a client that waits for a response to its contact.
    fileprivate(set) var isHeld = false

    /// Returns this connection, and leaves it to the receiver to stop counting it as one that waits for a response.
    mutating func takingHold() -> AdmittedConnection {
        defer { isHeld = false }
        return self
    }

    /// A number of the party that the source belongs to; `nil` if it is not limited.
    var party: Int? { source?.party }
}

/// Limits on connections, in total and for each source, and the rules for opening tunnels.
///
/// It is called when a connection opens or closes and when a tunnel is requested, but not for messages. Sources are
/// evaluated only here, before any TLS work. Connections from this computer have no source, so they count only toward
/// the total limit. They come from tests, or from a load balancer that forwards TCP without a PROXY header.
///
/// *Room for clients.* A flood of phones must not keep clients from the phones that already wait. So phones may take all
/// but an eighth of the connections (``SourceLimits/clientShare(of:)``), in total and for each source. Before its
/// request, a connection may belong to a phone, to a client or to an attacker who never sends one. So when the relay is
/// full, a new connection replaces the oldest one without a tunnel: it has sent no request, or was refused. A client
/// sends its request within a fraction of a second. To displace it, an attacker would have to replace all connections
/// without a tunnel in that time.
final class AdmissionControl: Sendable {
    /// The reason for closing a connection before it has a tunnel.
    enum Rejection: String, CaseIterable, Error {
        /// The source has reached its limit on connections.
        case source
        /// One of the source's IPv6 networks has reached its limit on connections.
        case network
        /// The source or one of its networks has opened too many connections recently, or sent too many failing requests.
        case rate
        /// The relay has reached its limit on connections.
        case full
        /// The relay was full, and a newer connection took its place.
        case displaced
        /// A load balancer's PROXY header is missing, malformed or late.
        case proxy
    }

    private struct State {
        var sources: SourceTable
        /// Clients that wait for a response to their contact, by source.
        var held: SourceTable
        /// Phones that request a contact ID for a push subscription, by source.
        var seals: SourceTable
        /// Phones that revoke a contact ID, by source.
        var revocations: SourceTable
        var connections = 0
        var phones = 0
        var listeners = 0
        var listenerArrivals = RateBucket()
        var acceptedConnections = 0
        var maximum: Int
        var maximumListeners: Int
        var listenerRate: EventRate
        var tokens: TunnelTokens?
        var isDraining = false

        /// Counts a connection of an admitted source, or returns false if the relay is full.
        mutating func takePlace() -> Bool {
            guard connections < maximum else { return false }
            connections += 1
            acceptedConnections += 1
            return true
        }

        /// Checks that another phone may begin to listen.
        ///
        /// While more than half of the rate is in use, only those of sources that open few tunnels may.
        func checkListener(from source: SourcePrefix?, now: NIODeadline) throws(UpgradeRefusal) {
            guard listeners < maximumListeners else { throw .full }
            guard listenerArrivals.hasRoom(for: listenerRate, now: now) else { throw .tooManyListeners }
            guard let source, listenerArrivals.isBelowHalf(of: listenerRate, now: now) else { return }
            guard !sources.opensMany(source, now: now) else { throw .tooManyListeners }
        }

        /// Counts a tunnel of a source, and a client that waits for a response to its contact.
        mutating func admitTunnel(
            from source: SourcePrefix,
            _ isListener: Bool,
            _ isContact: Bool,
            now: NIODeadline
        ) throws(UpgradeRefusal) {
            guard !isContact || held.hasAdded(source, now: now) else { throw .tooManyRequests }
            guard !sources.admitTunnel(from: source, isListener: isListener, now: now) else { return }
            if isContact { held.removeConnection(from: source, isPhone: false) }
            throw .tooManyRequests
        }

        mutating func addListener(now: NIODeadline) {
            listenerArrivals.take(1, of: listenerRate, now: now)
            listeners += 1
        }
    }

    private let state: Locked<State>
    private let checksOrigin: Bool
    private let offersContacts: Bool
    private let countsSources: Bool
    private let metrics = AdmissionMetrics()
    private let logger: Logger

    init(
        limits: RelayLimits,
        tokens: TunnelTokens? = nil,
        checksOrigin: Bool = true,
        offersContacts: Bool = false,
        countsSources: Bool = true,
        logger: Logger
    ) {
        self.checksOrigin = checksOrigin
        self.offersContacts = offersContacts
        self.countsSources = countsSources
        self.logger = logger
        state = Locked(
            State(
                sources: SourceTable(limits: limits.sources),
                held: SourceTable(limits: limits.held),
                seals: SourceTable(limits: limits.seals),
                revocations: SourceTable(limits: limits.ownRevocations),
                maximum: limits.connections,
                maximumListeners: limits.listeners,
                listenerRate: limits.listenerRate,
                tokens: tokens
            )
        )
    }

    // MARK: Connections

    /// Number of open connections.
    var connections: Int { state.withLock { $0.connections } }

    /// Number of connections admitted since the start.
    var acceptedConnections: Int { state.withLock { $0.acceptedConnections } }

    /// Admits and counts a new connection, or throws the reason for rejecting it.
    ///
    /// - Parameters:
    ///   - address: The peer's address; `nil` for a load balancer's own connections.
    ///   - now: The current time.
    ///   - makeRoom: Called if the relay is full. It closes and removes the oldest connection without a tunnel, and
    ///     returns false if there is none.
    func admitConnection(
        from address: SocketAddress?,
        now: NIODeadline,
        makeRoom: () -> Bool = { false }
    ) throws(Rejection) -> AdmittedConnection {
        let source = address.flatMap { countsSources && !$0.isLoopback ? SourcePrefix($0) : nil }
        do throws(Rejection) {
            let hasPlace = try state.withLock { state throws(Rejection) in
                if let source { try state.sources.admitConnection(from: source, now: now) }
                return state.takePlace()
            }
            // The source is checked first, so that one beyond its limits displaces no other.
            if !hasPlace { try replaceConnection(for: source, makeRoom) }
        } catch {
            recordRejection(error)
            throw error
        }
        metrics.admitted.increment()
        return AdmittedConnection(source: source)
    }

    /// Takes a place that `makeRoom` has freed.
    private func replaceConnection(for source: SourcePrefix?, _ makeRoom: () -> Bool) throws(Rejection) {
        // Above a limit that was lowered, one place more would not be enough.
        if state.withLock({ $0.connections <= $0.maximum }), makeRoom() {
            recordRejection(.displaced)
            if state.withLock({ $0.takePlace() }) { return }
        }
        if let source { state.withLock { $0.sources.removeConnection(from: source, isPhone: false) } }
        throw .full
    }

    /// Counts a connection that was rejected.
    func recordRejection(_ rejection: Rejection) { metrics.rejected[rejection]?.increment() }

    /// Stops counting an admitted connection that has closed.
    func removeConnection(_ connection: AdmittedConnection) {
        state.withLock { state in
            state.connections -= 1
            if connection.isPhone { state.phones -= 1 }
            if connection.isListener { state.listeners -= 1 }
            if connection.isHeld, let source = connection.source {
                state.held.removeConnection(from: source, isPhone: false)
            }
            if let source = connection.source {
                state.sources.removeConnection(
                    from: source,
                    isPhone: connection.isPhone,
                    isListener: connection.isListener
                )
            }
        }
    }

    // MARK: Requests

    /// Admits a request, or throws the reason for refusing it.
    ///
    /// A request that opens a tunnel or listens makes the connection count as a phone. The token is checked before the
    /// rate, so that a peer without a token cannot use up the rate of its source. Clients that contact a phone need no
    /// token, as those that join a tunnel.
    func admit(
        _ request: UpgradeRequest,
        on connection: inout AdmittedConnection,
        now: NIODeadline
    ) throws(UpgradeRefusal) {
        if checksOrigin { try request.checkOrigin() }
        let (isListener, isContact): (Bool, Bool)
        switch request.path {
        case .connect: return
        case .new: (isListener, isContact) = (false, false)
        case .listen: (isListener, isContact) = (true, false)
        case .contact: (isListener, isContact) = (false, true)
        }
        guard offersContacts || !(isListener || isContact) else { throw .contactNotOffered }
        let (isDraining, tokens) = state.withLock { ($0.isDraining, $0.tokens) }
        guard !isDraining else { throw .draining }
        var name: String?
        if let tokens, !isContact {
            guard let token = try request.bearerToken() else { throw .tokenMissing }
            guard let known = tokens.match(token) else { throw .tokenWrong }
            name = known
        }
        let source = connection.source
        try state.withLock { state throws(UpgradeRefusal) in
            guard state.phones < state.maximum - SourceLimits.clientShare(of: state.maximum) else { throw .full }
            if isListener { try state.checkListener(from: source, now: now) }
            if let source { try state.admitTunnel(from: source, isListener, isContact, now: now) }
            state.phones += 1
            if isListener { state.addListener(now: now) }
        }
        connection.isPhone = true
        connection.isListener = isListener
        connection.isHeld = isContact && source != nil
        if let name, !isListener { metrics.countTunnel(openedWith: name) }
    }

    /// Stops counting a client as one that waits for a response to its contact, unless that has happened.
    func endHold(of connection: inout AdmittedConnection) {
        guard connection.isHeld, let source = connection.source else { return }
        connection.isHeld = false
        state.withLock { $0.held.removeConnection(from: source, isPhone: false) }
    }

    /// Counts a phone's request for a contact ID; false if its source has sent too many, or has too many on their way.
    func admitSeal(of connection: AdmittedConnection, now: NIODeadline) -> Bool {
        guard let source = connection.source else { return true }
        return state.withLock { $0.seals.hasAdded(source, now: now) }
    }

    /// Stops counting a request for a contact ID whose message has reached the push server, or has failed.
    func endSeal(of connection: AdmittedConnection) {
        guard let source = connection.source else { return }
        state.withLock { $0.seals.removeConnection(from: source, isPhone: false) }
    }

    /// Counts the revocation of a contact ID; false if its source has revoked too many recently.
    func admitRevocation(of connection: AdmittedConnection, now: NIODeadline) -> Bool {
        guard let source = connection.source else { return true }
        return state.withLock { state in
            guard state.revocations.hasAdded(source, now: now) else { return false }
            state.revocations.removeConnection(from: source, isPhone: false)
            return true
        }
    }

    /// Counts and logs a request that was refused, and charges its source.
    func recordRefusal(_ refusal: UpgradeRefusal, of connection: AdmittedConnection, now: NIODeadline) {
        metrics.refused[refusal.status]?.increment()
        logger.debug("request refused", metadata: ["status": "\(refusal.status)", "why": "\(refusal)"])
        charge(connection, connections: refusal.costInConnections, now: now)
    }

    /// Charges the source of a phone that has not proven its contact ID, as much as for a wrong token.
    func recordFailedProof(of connection: AdmittedConnection, now: NIODeadline) {
        charge(connection, connections: UpgradeRefusal.tokenWrong.costInConnections, now: now)
    }

    private func charge(_ connection: AdmittedConnection, connections: Int, now: NIODeadline) {
        guard connections > 0, let source = connection.source else { return }
        state.withLock { $0.sources.charge(source, connections: connections, now: now) }
    }

    // MARK: Changes

    /// Refuses new tunnels and listeners from now on; waiting tunnels can still be joined.
    func drain() {
        state.withLock { $0.isDraining = true }
        metrics.draining.record(1)
    }

    /// Replaces the tokens, from the next request on.
    func replace(tokens: TunnelTokens?) { state.withLock { $0.tokens = tokens } }

    /// Replaces the limits, from the next connection on.
    func replace(limits: RelayLimits) {
        state.withLock { state in
            state.maximum = limits.connections
            state.maximumListeners = limits.listeners
            state.listenerRate = limits.listenerRate
            state.sources.limits = limits.sources
            state.held.limits = limits.held
            state.seals.limits = limits.seals
            state.revocations.limits = limits.ownRevocations
        }
    }

    /// Removes idle sources and records the number of connections.
    func sweep(now: NIODeadline) {
        let connections = state.withLock { state in
            state.sources.sweep(now: now)
            state.held.sweep(now: now)
            state.seals.sweep(now: now)
            state.revocations.sweep(now: now)
            return state.connections
        }
        metrics.open.record(connections)
    }
}

extension UpgradeRefusal {
    /// Number of connections that the refusal counts in addition to its own.
    ///
    /// A sign-in causes none of these refusals, except that a client may come too late for its phone. By default, half of
    /// a source's rate is used up after 30 failures, or after 10 wrong tokens. The other refusals are not the peer's
    /// mistake.
    fileprivate var costInConnections: Int {
        switch self {
        case .tokenWrong: 11
        case .tooManyRequests: 0
        default: (400..<500).contains(status) ? 3 : 0
        }
    }
}

extension SourceTable {
    /// Counts a new entry; false if there are too many.
    fileprivate mutating func hasAdded(_ source: SourcePrefix, now: NIODeadline) -> Bool {
        (try? addConnection(from: source, now: now)) != nil
    }

    /// Counts a new connection, or throws the reason for rejecting it.
    fileprivate mutating func admitConnection(
        from source: SourcePrefix,
        now: NIODeadline
    ) throws(AdmissionControl.Rejection) {
        do throws(SourceTable.Rejection) {
            try addConnection(from: source, now: now)
        } catch {
            switch error {
            case .source: throw .source
            case .network: throw .network
            case .rate: throw .rate
            }
        }
    }
}
