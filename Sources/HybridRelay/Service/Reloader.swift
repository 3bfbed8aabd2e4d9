// SPDX-License-Identifier: Apache-2.0

internal import CoreMetrics
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCore
internal import HybridThreads
internal import Logging

/// A part that can be reloaded while the relay runs.
enum ReloadedPart: String, CaseIterable {
    case certificate
    case tokens
    case limits

    /// Returns the counter of reloads with this result.
    fileprivate func counter(_ result: String) -> Counter {
        Counter(label: "hybrid_relay_reloads_total", dimensions: [("part", rawValue), ("result", result)])
    }
}

/// Reloading of certificate, tokens and limits in a running relay, with log and metrics.
struct Reloader {
    private let options: RelayFlags
    private let files: RelayFiles
    private let descriptors: Int
    private let server: RelayServer
    private let logger: Logger
    private let expiry = Gauge(label: "hybrid_relay_certificate_expiry_timestamp_seconds")
    private let suspect = Gauge(label: "hybrid_relay_certificate_suspect")
    /// The last chain that was not incomplete, with which each new one is compared.
    private let completeChain = Locked<CertificateChain?>(nil)
    /// The reason for the last failure of each part.
    private let failures = Locked<[ReloadedPart: String]>([:])
    /// Initial values of the settings that are read only at the start.
    private let fixed: [String: [String]]

    init(
        _ options: RelayFlags,
        _ configuration: Configuration,
        _ files: RelayFiles,
        descriptors: Int,
        server: RelayServer,
        logger: Logger
    ) {
        self.options = options
        self.files = files
        self.descriptors = descriptors
        self.server = server
        self.logger = logger
        fixed = Self.fixed(configuration)
        // This makes the metrics show a zero for each part and result.
        for part in ReloadedPart.allCases { _ = (part.counter("done"), part.counter("kept")) }
        recordCertificate()
    }

    /// Records the expiry of the certificate, in seconds since 1970, and warns of one that clients may refuse.
    private func recordCertificate() {
        guard let new = files.certificateChain else { return }
        if let seconds = new.expiry { expiry.record(seconds) }
        let problem = completeChain.withLock { chain in
            let problem = new.problem(replacing: chain, now: Int(clamping: WallClock.realtime.now()))
            // Otherwise the next reload of the same file would find nothing wrong.
            if !new.isIncomplete(replacing: chain) { chain = new }
            return problem
        }
        suspect.record(problem == nil ? 0 : 1)
        if let problem { logger.warning("clients may refuse the certificate: \(problem)") }
    }

    /// Returns all files of a part; none if the relay does not have the part.
    func files(of part: ReloadedPart) -> [String] {
        switch part {
        case .certificate: [files.certificate?.chain, files.certificate?.key].compactMap(\.self)
        case .tokens: [files.tokens].compactMap(\.self)
        case .limits: [options.configurationFile]
        }
    }

    /// Reloads a part.
    ///
    /// After a failure, the old part stays in effect and the reason is logged.
    ///
    /// - Parameters:
    ///   - part: The part to reload.
    ///   - isRequested: True if an operator requested it, false after a change of a file. Repeated failures with the
    ///     same reason are logged only if requested.
    /// - Returns: True if the part now matches its files.
    func reload(_ part: ReloadedPart, isRequested: Bool) -> Bool {
        guard !files(of: part).isEmpty else { return true }
        do throws(CommandFailure) {
            try replace(part)
            failures.withLock { $0[part] = nil }
            part.counter("done").increment()
            logger.notice("\(part) reloaded")
            return true
        } catch {
            let reason = "\(error)"
            let previous = failures.withLock { $0.updateValue(reason, forKey: part) }
            if previous != reason || isRequested {
                part.counter("kept").increment()
                logger.error("kept the old \(part): \(reason)")
            }
            return false
        }
    }

    private func replace(_ part: ReloadedPart) throws(CommandFailure) {
        switch part {
        case .certificate:
            server.replace(transport: try files.transport())
            recordCertificate()
        case .tokens: server.replace(tokens: try files.tunnelTokens())
        case .limits:
            let configuration = try options.resolved()
            server.replace(limits: try LimitSettings.limits(of: configuration, descriptors: descriptors))
            warnOfFixedSettings(configuration)
        }
    }

    private static func fixed(_ configuration: Configuration) -> [String: [String]] {
        let names = Set(RelaySettings.general.map(\.declaration.name))
        return Dictionary(
            uniqueKeysWithValues: configuration.entries.filter { names.contains($0.declaration.name) }
                .map { ($0.declaration.name, $0.texts ?? []) }
        )
    }

    /// Logs the names of changed settings that take effect only after a restart.
    private func warnOfFixedSettings(_ configuration: Configuration) {
        let now = Self.fixed(configuration)
        let changed = fixed.keys.filter { now[$0] != fixed[$0] }.sorted()
        guard !changed.isEmpty else { return }
        logger.warning("changed, but takes effect only after a restart: \(changed.joined(separator: ", "))")
    }
}
