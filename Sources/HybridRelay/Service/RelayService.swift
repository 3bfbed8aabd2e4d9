// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCore
internal import Logging
internal import NIOCore

/// A relay with configuration, signals, reloading, metrics and the admin server.
///
/// SIGTERM drains the relay: new tunnels are refused, but existing ones may finish. A second SIGTERM, or SIGINT, closes
/// them with code 1001. SIGHUP, or a change of their files, reloads certificate, tokens and limits. If that fails, the
/// old ones stay in effect.
struct RelayService {
    private let logger: Logger
    private let server: RelayServer
    private let admin: AdminServer?
    private let notifier = ServiceNotifier()
    private let grace: TimeAmount
    private let notice: TimeAmount
    private let reloader: Reloader
    /// The state of the files before they were read, so that no later change is missed.
    private let watched: WatchedFiles

    /// Interval between polls of the files and of the number of connections.
    private static let pollInterval = Duration.seconds(2)

    /// Time in which the load balancers of a cluster see that a node drains; they check it once a second.
    private static let noticeOfBalancers = TimeAmount.seconds(3)

    /// Creates a service from its configuration and files; it does not listen yet.
    init(_ options: RelayFlags) throws(CommandFailure) {
        var watched = WatchedFiles([options.configurationFile])
        let configuration = try options.resolved()
        logger = try Self.logger(configuration)
        let descriptors = DescriptorLimit.raise()
        let files = try RelayFiles(configuration)
        watched.add(files.paths)
        self.watched = watched
        let adminAddress = try ConfigurationCheck.adminAddress(configuration)
        grace = TimeAmount(try configuration.value(RelaySettings.drainGrace))
        notice = try configuration.value(RelaySettings.cluster) ? Self.noticeOfBalancers : .zero
        let registry = PrometheusRegistry(help: metricHelp, maximumSeries: 1000 + TunnelTokens.maximumCount)
        registry.addCollector(ProcessCollector().collect)
        registry.addCollector { [Self.lostLogLines] }
        MetricsSystem.bootstrap(registry)
        Gauge(label: "hybrid_relay_build_info", dimensions: [("version", ProductVersion.text)]).record(1)
        let server = RelayServer(
            configuration: try ConfigurationCheck.relay(
                configuration,
                files,
                InheritedSockets.take(),
                descriptors: descriptors
            ),
            logger: logger,
            loops: try Self.eventLoops(configuration)
        )
        if try ConfigurationCheck.hidesSources(configuration) {
            logger.warning("no limits per source: a balancer without PROXY protocol hides where connections come from")
        }
        self.server = server
        reloader = Reloader(options, configuration, files, descriptors: descriptors, server: server, logger: logger)
        admin = try adminAddress.map { [logger] address throws(CommandFailure) in
            AdminServer(
                address: try address.resolved(),
                logger: logger,
                hosts: try configuration.value(RelaySettings.adminHost),
                health: { server.health },
                metrics: { registry.render() }
            )
        }
    }

    private static var lostLogLines: PrometheusReading {
        let help = "Lines of the log that were lost because they could not be written at once."
        return .counter("hybrid_relay_log_lines_lost_total", help: help, Double(StandardError.lostLines))
    }

    // MARK: Configuration

    private static func logger(_ configuration: Configuration) throws(CommandFailure) -> Logger {
        let level = try configuration.value(RelaySettings.logLevel)
        let isJSON = try configuration.value(RelaySettings.logFormat) == "json"
        let format: ProgramLogHandler.Format = isJSON ? .json : .console(label: HybridRelay.programName)
        // The event loops write the lines.
        ProgramLogHandler.neverBlock(format)
        return Logger(label: HybridRelay.programName) { _ in ProgramLogHandler(format, logLevel: level) }
    }

    /// Returns the number of event loops; by default one for each processor that the process may use.
    private static func eventLoops(_ configuration: Configuration) throws(CommandFailure) -> Int {
        let count = try configuration.value(RelaySettings.eventLoops) ?? RelayServer.usableProcessors
        MemoryTrimmer.limitHeaps(threads: count)
        return count
    }

    // MARK: Running

    /// Runs the relay until a signal stops it and the last tunnel has ended.
    func run() async throws {
        try await withSignalStream(of: [.interrupt, .terminate, .hangup]) { signals in
            do {
                _ = try await server.start()
                _ = try await admin?.start()
            } catch {
                await server.shutdown()
                throw Self.cannotListen(error)
            }
            _ = notifier.ready()
            await serve(until: signals)
            await admin?.shutdown()
        }
    }

    private static func cannotListen(_ error: any Error) -> CommandFailure {
        if let error = error as? ListenError { return CommandFailure(error) }
        return CommandFailure("cannot listen: \(error)", status: .unavailable)
    }

    private enum Event: Sendable {
        case signal(TerminationSignal)
        case drained
    }

    private func serve(until signals: AsyncStream<TerminationSignal>) async {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await pingWatchdog() }
            group.addTask { await watchFiles() }
            group.addTask { await trimMemory() }
            group.addTask { for await signal in signals { continuation.yield(.signal(signal)) } }
            var drain: Task<Void, Never>?
            loop: for await event in events {
                switch event {
                case .signal(.hangup):
                    _ = notifier.reloading()
                    for part in ReloadedPart.allCases { _ = reloader.reload(part, isRequested: true) }
                    _ = notifier.ready()
                case .signal(.terminate) where drain == nil:
                    _ = notifier.stopping(status: "draining")
                    _ = notifier.extendTimeout(by: .nanoseconds(grace.nanoseconds) + .seconds(10))
                    drain = Task {
                        await server.drain(grace: grace, notice: notice)
                        continuation.yield(.drained)
                    }
                case .signal(.terminate), .signal(.interrupt):
                    _ = notifier.stopping()
                    drain?.cancel()
                    await server.shutdown()
                    break loop
                case .drained: break loop
                }
            }
            await drain?.value
            group.cancelAll()
        }
    }

    /// Pings the service manager's watchdog while the relay is healthy.
    private func pingWatchdog() async {
        guard let interval = notifier.watchdogInterval else { return }
        while !Task.isCancelled {
            if server.health != .broken { _ = notifier.watchdog() }
            try? await Task.sleep(for: interval)
        }
    }

    private func trimMemory() async {
        var trimmer = MemoryTrimmer()
        while !Task.isCancelled {
            trimmer.trimAfterPeak(connections: server.connections, accepted: server.acceptedConnections)
            try? await Task.sleep(for: Self.pollInterval)
        }
    }

    /// Reloads changed files.
    private func watchFiles() async {
        var watched = watched
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.pollInterval)
            let changed = watched.changed()
            for part in ReloadedPart.allCases {
                let files = reloader.files(of: part)
                guard !changed.isDisjoint(with: files) else { continue }
                if !reloader.reload(part, isRequested: false) { watched.markFailed(files) }
            }
        }
    }
}

/// Help texts of the metrics.
private let metricHelp = [
    "hybrid_relay_tunnels_total": "Tunnels opened.",
    "hybrid_relay_tunnels_open": "Tunnels with at least one connection.",
    "hybrid_relay_tunnels_waiting": "Tunnels with one end.",
    "hybrid_relay_listeners": "Phones that listen for wake-ups.",
    "hybrid_relay_listeners_replaced_total": "Listening phones replaced by a newer connection of the same phone.",
    "hybrid_relay_contacts_held": "Clients that wait for a linked phone to connect.",
    "hybrid_relay_revocations": "Revoked contact IDs that are remembered.",
    "hybrid_relay_wakeups_total": "Requests for linked phones, by outcome.",
    "hybrid_relay_pushes_total": "Messages for push servers, by outcome.",
    "hybrid_relay_pushes_pending": "Messages that wait for a push server's response.",
    "hybrid_relay_tunnel_bytes_total": "Bytes carried by tunnels, counted when they end.",
    "hybrid_relay_tunnel_ends_total": "Tunnels ended, by reason.",
    "hybrid_relay_refusals_total": "Requests refused, by HTTP status.",
    "hybrid_relay_connections_total": "Connections admitted.",
    "hybrid_relay_connections_open": "Open connections.",
    "hybrid_relay_connections_refused_total": "Connections closed before they had a tunnel, by reason.",
    "hybrid_relay_buffered_bytes": "Bytes held in memory: incomplete, or not yet accepted by the other end.",
    "hybrid_relay_new_by_token_total": "Tunnels requested, by the name of the token.",
    "hybrid_relay_draining": "1 while the relay refuses new tunnels and listeners and waits for existing ones to end.",
    "hybrid_relay_certificate_expiry_timestamp_seconds": "Expiry of the certificate in use.",
    "hybrid_relay_certificate_suspect": "1 if the certificate in use was expired or its chain incomplete when read.",
    "hybrid_relay_reloads_total": "Reloads, by part and result: done, or kept if the old version stays in use.",
    "hybrid_relay_build_info": "Version of the running program.",
]
