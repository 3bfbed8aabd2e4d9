// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import Logging
internal import NIOCore
internal import RelayCore
internal import ServiceSupport

/// A relay with everything that an operator needs around it: from its configuration to its last tunnel.
///
/// SIGTERM drains: no new tunnel, those there are may finish; a second SIGTERM, or SIGINT, ends them with 1001.
/// SIGHUP, and any change of the certificate's or the tokens' files, has them read again; SIGHUP reads the limits of
/// the configuration file, too. Whatever cannot be read leaves what was in force.
struct RelayService {
    private let options: RelayOptions
    private let logger: Logger
    private let server: RelayServer
    private let admin: AdminServer?
    private let notifier = ServiceNotifier()
    private let grace: TimeAmount
    private let files: RelayFiles
    private let descriptors: Int
    private let reloads: Reloads

    /// How often files are looked at.
    private static let lookInterval = Duration.seconds(5)

    /// Reads all there is to read; nothing listens yet.
    init(_ options: RelayOptions, _ configuration: Configuration) throws(CommandFailure) {
        self.options = options
        logger = try Self.logger(configuration)
        descriptors = DescriptorLimit.raise()
        files = try RelayFiles(configuration)
        let adminAddress = try RelayPlan.adminAddress(configuration)
        grace = TimeAmount(try configuration.value(RelaySettings.drainGrace))
        let registry = PrometheusRegistry(help: MetricHelp.texts)
        registry.addCollector(ProcessCollector().collect)
        MetricsSystem.bootstrap(registry)
        Gauge(label: "hybrid_relay_build_info", dimensions: [("version", ProductVersion.text)]).record(1)
        reloads = Reloads(certificateEnd: files.certificateEnd)
        let server = RelayServer(
            configuration: try RelayPlan.relay(configuration, files, InheritedSockets.take(), descriptors: descriptors),
            logger: logger
        )
        if try RelayPlan.hidesSources(configuration) {
            logger.warning("no limits per source: a balancer without PROXY protocol hides where connections come from")
        }
        self.server = server
        guard let address = adminAddress else {
            admin = nil
            return
        }
        admin = AdminServer(
            address: try address.resolved(),
            logger: logger,
            health: { server.health },
            metrics: { registry.render() }
        )
    }

    // MARK: Configuration

    private static func logger(_ configuration: Configuration) throws(CommandFailure) -> Logger {
        let level = try configuration.value(RelaySettings.logLevel)
        let isJSON = try configuration.value(RelaySettings.logFormat) == "json"
        return Logger(label: HybridRelay.programName) { label in
            if isJSON { return JSONLogHandler(logLevel: level) }
            return StderrLogHandler(label: label, logLevel: level)
        }
    }

    // MARK: Running

    /// Listens, and returns when the last tunnel has ended after a signal.
    func run() async throws {
        try await withSignalStream(of: [.interrupt, .terminate, .hangup]) { signals in
            do {
                _ = try await server.start()
            } catch {
                throw CommandFailure("cannot listen: \(error)", status: .unavailable)
            }
            do {
                _ = try await admin?.start()
            } catch {
                await server.shutdown()
                throw CommandFailure("cannot listen for the admin: \(error)", status: .unavailable)
            }
            _ = notifier.ready()
            await serve(until: signals)
            await admin?.shutdown()
        }
    }

    private enum Event: Sendable {
        case signal(TerminationSignal)
        case drained
    }

    private func serve(until signals: AsyncStream<TerminationSignal>) async {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await keepWatchdog() }
            group.addTask { await watchFiles() }
            group.addTask { for await signal in signals { continuation.yield(.signal(signal)) } }
            var drain: Task<Void, Never>?
            loop: for await event in events {
                switch event {
                case .signal(.hangup):
                    _ = notifier.reloading()
                    reload(.all)
                    _ = notifier.ready()
                case .signal(.terminate) where drain == nil:
                    _ = notifier.stopping(status: "draining")
                    _ = notifier.extendTimeout(by: .nanoseconds(grace.nanoseconds) + .seconds(10))
                    drain = Task {
                        await server.drain(grace: grace)
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

    /// Tells the service manager that the relay lives, as long as it does.
    private func keepWatchdog() async {
        guard let interval = notifier.watchdogInterval else { return }
        while !Task.isCancelled {
            if server.health != .broken { _ = notifier.watchdog() }
            try? await Task.sleep(for: interval)
        }
    }

    /// Reads again what has changed.
    private func watchFiles() async {
        var watched = WatchedFiles(files.paths)
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.lookInterval)
            let changed = watched.changed()
            var parts: ReloadedParts = []
            if let certificate = files.certificate, !changed.isDisjoint(with: [certificate.chain, certificate.key]) {
                parts.insert(.certificate)
            }
            if let tokens = files.tokens, changed.contains(tokens) { parts.insert(.tokens) }
            if !parts.isEmpty { reload(parts) }
        }
    }

    private func reload(_ parts: ReloadedParts) {
        if parts.contains(.certificate), files.certificate != nil {
            reloads.attempt("certificate", logger) { () throws(CommandFailure) in
                server.replace(transport: try files.transport())
                reloads.certificateEnds(files.certificateEnd)
            }
        }
        if parts.contains(.tokens), files.tokens != nil {
            reloads.attempt("tokens", logger) { () throws(CommandFailure) in
                server.replace(tokens: try files.newTokens())
            }
        }
        if parts.contains(.limits) {
            reloads.attempt("limits", logger) { () throws(CommandFailure) in
                let configuration = try options.resolved()
                server.replace(limits: try LimitSettings.limits(of: configuration, descriptors: descriptors))
            }
        }
    }
}

/// What can be read again while the relay runs.
struct ReloadedParts: OptionSet {
    let rawValue: Int

    static let certificate = ReloadedParts(rawValue: 1)
    static let tokens = ReloadedParts(rawValue: 2)
    static let limits = ReloadedParts(rawValue: 4)
    static let all: ReloadedParts = [certificate, tokens, limits]
}
