// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridThreads
internal import NIOCore

/// Who may come in: how many connections there may be, in all and from one source, and who may open a tunnel.
///
/// Asked when a connection begins and ends and when a tunnel is opened; messages do not pass here. Sources are known
/// only here, and only while they have something to do with the relay.
final class AdmissionControl: Sendable {
    /// Why a connection is hung up on before a word is said.
    enum Rejection: String, CaseIterable, Error {
        /// Its source has as many as it may.
        case source
        /// The relay has as many as it may.
        case full
    }

    private struct State {
        var sources: SourceTable
        var connections = 0
        var arrivals = 0
        var maximum: Int
        var tokens: NewTokens?
        var isDraining = false
    }

    private let state: Locked<State>
    private let checksOrigin: Bool

    init(limits: RelayLimits, tokens: NewTokens? = nil, checksOrigin: Bool = false) {
        self.checksOrigin = checksOrigin
        state = Locked(
            State(sources: SourceTable(limits: limits.sources), maximum: limits.connections, tokens: tokens)
        )
    }

    // MARK: Connections

    /// Connections there are.
    var connections: Int { state.withLock { $0.connections } }

    /// Connections there have ever been.
    var arrivals: Int { state.withLock { $0.arrivals } }

    /// A connection begins; where nobody can tell its source, only the whole number counts.
    func arrive(_ source: SourcePrefix?) throws(Rejection) {
        let rejection = state.withLock { state -> Rejection? in
            guard state.connections < state.maximum else { return .full }
            if let source, !state.sources.arrive(source) { return .source }
            state.connections += 1
            state.arrivals += 1
            return nil
        }
        if let rejection { throw rejection }
    }

    /// A connection that was let in is closed.
    func leave(_ source: SourcePrefix?) {
        state.withLock { state in
            state.connections -= 1
            if let source { state.sources.leave(source) }
        }
    }

    // MARK: Requests

    /// Whether a request may have what it asks for; the name of its token, if it needed one.
    ///
    /// The token comes before the rate: who has none must not use up what others of its source may.
    func admit(
        _ request: UpgradeRequest,
        from source: SourcePrefix?,
        now: NIODeadline
    ) throws(UpgradeRefusal) -> String? {
        if checksOrigin { try request.checkOrigin() }
        guard case .new = request.path else { return nil }
        let (isDraining, tokens) = state.withLock { ($0.isDraining, $0.tokens) }
        guard !isDraining else { throw .draining }
        var name: String?
        if let tokens {
            guard let token = try request.bearerToken() else { throw .tokenMissing }
            guard let known = tokens.match(token) else { throw .tokenWrong }
            name = known
        }
        if let source, !state.withLock({ $0.sources.mayOpen(source, now: now) }) { throw .tooManyRequests }
        return name
    }

    // MARK: Changes

    /// Lets nobody open a tunnel any more; those that wait can still be joined.
    func drain() { state.withLock { $0.isDraining = true } }

    /// Whether ``drain()`` was called.
    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// Other tokens count from the next request on.
    func replace(tokens: NewTokens?) { state.withLock { $0.tokens = tokens } }

    /// Other limits count from the next connection on.
    func replace(limits: RelayLimits) {
        state.withLock { state in
            state.maximum = limits.connections
            state.sources.limits = limits.sources
        }
    }

    /// Forgets sources that have nothing open.
    func sweep(now: NIODeadline) { state.withLock { $0.sources.sweep(now: now) } }
}

extension RelayLimits {
    fileprivate var sources: SourceLimits {
        SourceLimits(open: connectionsPerSource, newPerMinute: newPerMinuteAndSource)
    }
}
