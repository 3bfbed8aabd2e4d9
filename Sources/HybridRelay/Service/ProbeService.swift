// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCheck
internal import HybridRelayCore
internal import Logging

/// `check --every`: sign-ins through a relay, again and again, with their times as metrics.
struct ProbeService {
    private let prober: SignInProber
    private let interval: Duration
    private let admin: AdminServer
    private let metrics: ProbeMetrics
    private let logger: Logger

    /// Creates a service that does not listen yet.
    init(
        _ relay: RelayAddress,
        _ options: CheckOptions,
        every interval: Duration,
        metrics address: String,
        _ domainExpiry: ExpiryDate?
    ) throws(CommandFailure) {
        // Two connections at a time need no heaps of their own.
        MemoryTrimmer.limitHeaps(threads: 1)
        guard let place = HostPort(forMetrics: address) else {
            throw CommandFailure("--metrics takes HOST:PORT or PORT", status: .usage)
        }
        let registry = PrometheusRegistry(help: ProbeMetrics.help)
        registry.addCollector(ProcessCollector().collect)
        MetricsSystem.bootstrap(registry)
        // After the bootstrap, before which metrics are not kept.
        metrics = ProbeMetrics()
        do {
            prober = try SignInProber(relay: relay, options: options)
        } catch {
            throw CommandFailure(error)
        }
        self.interval = interval
        logger = Logger(label: HybridRelay.programName) { _ in
            ProgramLogHandler(.console(label: HybridRelay.programName), logLevel: .info)
        }
        admin = AdminServer(
            address: try place.resolved(),
            logger: logger,
            health: { .ready },
            metrics: { registry.render() }
        )
        metrics.prepare()
        if let domainExpiry { metrics.record(domainExpiry) }
    }

    /// Signs in at every interval until a signal.
    func run() async throws {
        do {
            _ = try await admin.start()
        } catch {
            guard let error = error as? ListenError else { throw error }
            throw CommandFailure(error)
        }
        let ending = await withTerminationSignals { [self] in
            let clock = ContinuousClock()
            var next = clock.now
            var isFirst = true
            while true {
                let report = try await prober.signIn()
                metrics.record(report)
                if isFirst { MemoryTrimmer.releaseCode() }
                isFirst = false
                if let failure = report.failure {
                    // The reason may contain text from the relay.
                    let reason = StandardError.oneLine(failure.reason)
                    logger.warning("a sign-in failed at \(failure.stage.rawValue): \(reason)")
                }
                // A sign-in that takes longer than the interval delays the next one.
                next = max(next + interval, clock.now)
                try await clock.sleep(until: next)
            }
        }
        await admin.shutdown()
        // A signal is the only regular end.
        if ending.signal == nil { try ending.result.get() }
    }
}

/// The metrics of a prober; the region is that of the routing ID.
private struct ProbeMetrics: Sendable {
    static let help = [
        "hybrid_probe_seconds": "Times of the stages of sign-ins, by stage and region.",
        "hybrid_probe_sign_ins_total": "Sign-ins, by result.",
        "hybrid_probe_failures_total": "Sign-ins that failed, by the stage at which they did.",
        "hybrid_probe_last_success_timestamp_seconds": "Time of the latest sign-in that succeeded, or of the start.",
        "hybrid_probe_certificate_expiry_timestamp_seconds": "Expiry of the relay's certificate.",
        "hybrid_probe_domain_expiry_timestamp_seconds": "Expiry of the domain's registration, as configured.",
    ]

    private let succeeded = Counter(label: "hybrid_probe_sign_ins_total", dimensions: [("result", "ok")])
    private let failed = Counter(label: "hybrid_probe_sign_ins_total", dimensions: [("result", "failed")])
    private let lastSuccess = Gauge(label: "hybrid_probe_last_success_timestamp_seconds")

    /// Creates the series that must exist before their first change.
    func prepare() {
        for stage in SignInStage.allCases where stage != .total { failures(stage).increment(by: 0) }
        lastSuccess.record(Double(WallClock.realtime.now()))
    }

    private func failures(_ stage: SignInStage) -> Counter {
        Counter(label: "hybrid_probe_failures_total", dimensions: [("stage", stage.rawValue)])
    }

    func record(_ expiry: ExpiryDate) {
        Gauge(label: "hybrid_probe_domain_expiry_timestamp_seconds").record(expiry.secondsSince1970)
    }

    func record(_ report: SignInReport) {
        let region = report.region.map(String.init) ?? "none"
        for (stage, time) in report.times {
            Timer(label: "hybrid_probe_seconds", dimensions: [("region", region), ("stage", stage.rawValue)])
                .recordNanoseconds(
                    time.components.seconds * 1_000_000_000 + time.components.attoseconds / 1_000_000_000
                )
        }
        if let expiry = report.certificateExpiry {
            Gauge(label: "hybrid_probe_certificate_expiry_timestamp_seconds").record(expiry)
        }
        if let failure = report.failure {
            failed.increment()
            failures(failure.stage).increment()
        } else {
            succeeded.increment()
            lastSuccess.record(Double(WallClock.realtime.now()))
        }
    }
}
