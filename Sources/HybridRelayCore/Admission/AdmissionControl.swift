// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads
internal import Logging
internal import Metrics
internal import NIOCore

/// Limits on connections, in total and for each source, and the rules for opening tunnels.
///
/// It is called when a connection opens or closes and when a tunnel is requested, but not for messages. Sources are
/// evaluated only here. A source is kept only while it has connections or has recently opened tunnels.
final class AdmissionControl: Sendable {
    /// The reason for closing a connection before anything is sent.
    enum Rejection: String, CaseIterable, Error {
        /// The source has reached its limit on connections.
        case source
        /// The relay has reached its limit on connections.
        case full
        /// A load balancer's PROXY header is missing, malformed or late.
        case proxy
    }

    private struct State {
        var sources: SourceTable
        var connections = 0
        var acceptedConnections = 0
        var maximum: Int
        var tokens: TunnelTokens?
        var isDraining = false
    }

    private let state: Locked<State>
    private let checksOrigin: Bool
    private let metrics = AdmissionMetrics()
    private let logger: Logger

    init(limits: RelayLimits, tokens: TunnelTokens? = nil, checksOrigin: Bool = false, logger: Logger) {
        self.checksOrigin = checksOrigin
        self.logger = logger
        state = Locked(
            State(sources: SourceTable(limits: limits.sources), maximum: limits.connections, tokens: tokens)
        )
    }

    // MARK: Connections

    /// Number of open connections.
    var connections: Int { state.withLock { $0.connections } }

    /// Number of connections admitted since the start.
    var acceptedConnections: Int { state.withLock { $0.acceptedConnections } }

    /// Admits and counts a new connection, or throws the reason for rejecting it.
    ///
    /// If there is no source, only the total number of connections is limited.
    func admitConnection(from source: SourcePrefix?) throws(Rejection) {
        let rejection = state.withLock { state -> Rejection? in
            guard state.connections < state.maximum else { return .full }
            if let source, !state.sources.addConnection(from: source) { return .source }
            state.connections += 1
            state.acceptedConnections += 1
            return nil
        }
        if let rejection {
            recordRejection(rejection)
            throw rejection
        }
        metrics.admitted.increment()
    }

    /// Counts a connection that was rejected.
    func recordRejection(_ rejection: Rejection) { metrics.rejected[rejection]?.increment() }

    /// Stops counting an admitted connection that has closed.
    func removeConnection(from source: SourcePrefix?) {
        state.withLock { state in
            state.connections -= 1
            if let source { state.sources.removeConnection(from: source) }
        }
    }

    // MARK: Requests

    /// Admits a request, or throws the reason for refusing it.
    ///
    /// The token is checked before the rate, so that a peer without a token cannot use up the rate of its source.
    func admit(_ request: UpgradeRequest, from source: SourcePrefix?, now: NIODeadline) throws(UpgradeRefusal) {
        if checksOrigin { try request.checkOrigin() }
        guard case .new = request.path else { return }
        let (isDraining, tokens) = state.withLock { ($0.isDraining, $0.tokens) }
        guard !isDraining else { throw .draining }
        var name: String?
        if let tokens {
            guard let token = try request.bearerToken() else { throw .tokenMissing }
            guard let known = tokens.match(token) else { throw .tokenWrong }
            name = known
        }
        if let source, !state.withLock({ $0.sources.admitTunnel(from: source, now: now) }) { throw .tooManyRequests }
        if let name { metrics.countTunnel(openedWith: name) }
    }

    /// Counts and logs a request that was refused.
    func recordRefusal(_ refusal: UpgradeRefusal) {
        metrics.refused[refusal.status]?.increment()
        logger.debug("request refused", metadata: ["status": "\(refusal.status)", "why": "\(refusal)"])
    }

    // MARK: Changes

    /// Refuses new tunnels from now on; waiting tunnels can still be joined.
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
            state.sources.limits = limits.sources
        }
    }

    /// Removes idle sources and records the number of connections.
    func sweep(now: NIODeadline) {
        let connections = state.withLock { state in
            state.sources.sweep(now: now)
            return state.connections
        }
        metrics.open.record(connections)
    }
}

/// Metrics of connections and refused requests, none of which identifies a peer.
private struct AdmissionMetrics: Sendable {
    let admitted = Counter(label: "hybrid_relay_connections_total")
    let open = Gauge(label: "hybrid_relay_connections_open")
    let draining = Gauge(label: "hybrid_relay_draining")
    let rejected = Dictionary(
        uniqueKeysWithValues: AdmissionControl.Rejection.allCases.map { reason in
            let dimensions = [("reason", reason.rawValue)]
            return (reason, Counter(label: "hybrid_relay_connections_refused_total", dimensions: dimensions))
        }
    )
    let refused = Dictionary(
        uniqueKeysWithValues: UpgradeRefusal.statuses.map { status in
            (status, Counter(label: "hybrid_relay_refusals_total", dimensions: [("status", "\(status)")]))
        }
    )

    init() {
        draining.record(0)
        open.record(0)
    }

    /// Counts a tunnel requested with the token of this name.
    func countTunnel(openedWith token: String) {
        Counter(label: "hybrid_relay_new_by_token_total", dimensions: [("token", token)]).increment()
    }
}

extension RelayLimits {
    fileprivate var sources: SourceLimits {
        SourceLimits(open: connectionsPerSource, newPerMinute: newPerMinuteAndSource)
    }
}
