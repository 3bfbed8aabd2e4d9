// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridRelayCore
internal import Logging
internal import NIOCore
internal import NIOPosix

/// A relay with everything that an operator needs around it: from its configuration to its last tunnel.
///
/// SIGTERM drains: no new tunnel, those there are may finish; a second SIGTERM, or SIGINT, ends them with 1001.
/// SIGHUP, and any change of their files, has the certificate, the tokens and the limits read again. Whatever cannot be
/// read leaves what was in force.
struct RelayService {
    private let logger: Logger
    private let server: RelayServer
    private let admin: AdminServer?
    private let notifier = ServiceNotifier()
    private let grace: TimeAmount
    private let reloader: Reloader
    /// The files as they were before they were read, so that no later change is missed.
    private let watched: WatchedFiles

    /// How often files, and the number of connections, are looked at.
    private static let lookInterval = Duration.seconds(2)

    /// Reads all there is to read; nothing listens yet.
    init(_ options: RelayOptions) throws(CommandFailure) {
        var watched = WatchedFiles([options.configurationFile])
        let configuration = try options.resolved()
        logger = try Self.logger(configuration)
        let descriptors = DescriptorLimit.raise()
        let files = try RelayFiles(configuration)
        watched.add(files.paths)
        self.watched = watched
        let adminAddress = try RelayPlan.adminAddress(configuration)
        grace = TimeAmount(try configuration.value(RelaySettings.drainGrace))
        let registry = PrometheusRegistry(
            help: MetricHelp.texts,
            maximumSeries: 1000 + NewTokens.maximumCount
        )
        registry.addCollector(ProcessCollector().collect)
        MetricsSystem.bootstrap(registry)
        Gauge(label: "hybrid_relay_build_info", dimensions: [("version", ProductVersion.text)]).record(1)
        let server = RelayServer(
            configuration: try RelayPlan.relay(configuration, files, InheritedSockets.take(), descriptors: descriptors),
            logger: logger,
            group: try Self.eventLoops(configuration)
        )
        if try RelayPlan.hidesSources(configuration) {
            logger.warning("no limits per source: a balancer without PROXY protocol hides where connections come from")
        }
        self.server = server
        reloader = Reloader(options, configuration, files, descriptors: descriptors, server: server, logger: logger)
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

    /// Threads of its own where their number is given; the relay ends with the process, and they do, too.
    private static func eventLoops(_ configuration: Configuration) throws(CommandFailure) -> any EventLoopGroup {
        let count = try configuration.value(RelaySettings.eventLoops)
        MemoryTrimmer.limitHeaps(threads: count ?? System.coreCount)
        guard let count else { return MultiThreadedEventLoopGroup.singleton }
        return MultiThreadedEventLoopGroup(numberOfThreads: count)
    }

    // MARK: Running

    /// Listens, and returns when the last tunnel has ended after a signal.
    func run() async throws {
        try await withSignalStream(of: [.interrupt, .terminate, .hangup]) { signals in
            do {
                _ = try await server.start()
            } catch {
                throw Self.cannotListen(error)
            }
            do {
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
        CommandFailure((error as? ListenError)?.sentence ?? "cannot listen: \(error)", status: .unavailable)
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
            group.addTask { await returnMemory() }
            group.addTask { for await signal in signals { continuation.yield(.signal(signal)) } }
            var drain: Task<Void, Never>?
            loop: for await event in events {
                switch event {
                case .signal(.hangup):
                    _ = notifier.reloading()
                    for part in ReloadedPart.allCases { _ = reloader.reload(part, isAsked: true) }
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

    private func returnMemory() async {
        var memory = MemoryTrimmer()
        while !Task.isCancelled {
            memory.look(connections: server.connections, arrivals: server.arrivals)
            try? await Task.sleep(for: Self.lookInterval)
        }
    }

    /// Reads again what has changed.
    private func watchFiles() async {
        var watched = watched
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.lookInterval)
            let changed = watched.changed()
            for part in ReloadedPart.allCases {
                let files = reloader.files(of: part)
                guard !changed.isDisjoint(with: files) else { continue }
                if !reloader.reload(part, isAsked: false) { watched.areUseless(files) }
            }
        }
    }
}
