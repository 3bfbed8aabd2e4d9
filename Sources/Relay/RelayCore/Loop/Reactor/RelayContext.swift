// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridThreads
internal import Logging
internal import NIOCore

/// The parts of a relay that all its event loops share.
final class RelayContext: Sendable {
    let registry: TunnelRegistry
    let admission: AdmissionControl
    let logger: Logger
    /// Interval between sweeps.
    let sweepInterval: TimeAmount
    /// Load balancers, whose connections begin with a PROXY header.
    let balancers: [AddressBlock]
    /// The host for which phones prove their contact IDs; `nil` if linked phones are not offered.
    let contactHost: String?
    /// The way to phones with a push subscription; `nil` if it is not offered.
    let push: PushGateway?
    private let currentTransport: Locked<SocketSecurity>
    private let acceptWarnings = Locked(AcceptWarnings())

    init(configuration: RelayConfiguration, logger: Logger) {
        self.logger = logger
        sweepInterval = configuration.limits.sweepInterval
        balancers = configuration.balancers
        contactHost = configuration.contactHost
        push = configuration.contactHost == nil ? nil : configuration.push
        push?.replace(limits: configuration.limits)
        currentTransport = Locked(configuration.transport)
        registry = TunnelRegistry(node: configuration.node, limits: configuration.limits, logger: logger)
        admission = AdmissionControl(
            limits: configuration.limits,
            tokens: configuration.tokens,
            checksOrigin: configuration.checksOrigin,
            offersContacts: configuration.contactHost != nil,
            countsSources: configuration.countsSources,
            logger: logger
        )
    }

    /// The transport for new connections.
    var transport: SocketSecurity { currentTransport.withLock { $0 } }

    /// Replaces the transport for new connections.
    func replace(transport: SocketSecurity) { currentTransport.withLock { $0 = transport } }

    /// Logs that accepting has paused because of an error.
    func warnOfAcceptPause(_ code: CInt, now: NIODeadline) {
        guard acceptWarnings.withLock({ $0.isDue(now: now) }) else { return }
        let resource = code == EMFILE || code == ENFILE ? "file descriptor" : "memory"
        logger.warning("no \(resource) is left for another connection; new connections wait")
    }

    /// Returns true if the connections of a peer begin with a PROXY header.
    func isBalancer(_ address: SocketAddress?) -> Bool {
        guard !balancers.isEmpty, let address else { return false }
        return balancers.contains { $0.contains(address) }
    }
}

/// The times of warnings that accepting has paused, at most one a minute, because there may be many attempts.
private struct AcceptWarnings {
    private static let interval = TimeAmount.minutes(1)
    private var last: NIODeadline?

    /// Returns true if a warning is due, which then counts as logged.
    mutating func isDue(now: NIODeadline) -> Bool {
        if let last, now - last < Self.interval { return false }
        last = now
        return true
    }
}
