// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridRelayCore
internal import Logging

/// Reloads certificate, tokens and limits of a running relay.
struct Reloader {
    private let options: RelayOptions
    private let files: RelayFiles
    private let descriptors: Int
    private let server: RelayServer
    private let logger: Logger
    private let history: ReloadHistory
    /// Values at the start of the settings that only a start reads.
    private let fixed: [String: [String]]

    init(
        _ options: RelayOptions,
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
        history = ReloadHistory(certificateExpiry: files.certificateExpiry)
        fixed = Self.fixed(configuration)
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
    /// - Parameter isRequested: True if an operator requested it, false after a change of a file.
    /// - Returns: True if the part now matches its files.
    func reload(_ part: ReloadedPart, isRequested: Bool) -> Bool {
        guard !files(of: part).isEmpty else { return true }
        return history.attempt(part, isRequested: isRequested, logger) { () throws(CommandFailure) in
            switch part {
            case .certificate:
                server.replace(transport: try files.transport())
                history.recordExpiry(files.certificateExpiry)
            case .tokens: server.replace(tokens: try files.tunnelTokens())
            case .limits:
                let configuration = try options.resolved()
                server.replace(limits: try LimitSettings.limits(of: configuration, descriptors: descriptors))
                warnOfFixedSettings(configuration)
            }
        }
    }

    private static func fixed(_ configuration: Configuration) -> [String: [String]] {
        let names = Set(RelaySettings.general.map(\.declaration.name))
        return Dictionary(
            uniqueKeysWithValues: configuration.entries.filter { names.contains($0.declaration.name) }
                .map { ($0.declaration.name, $0.texts ?? []) }
        )
    }

    /// Logs the names of changed settings that only a restart applies.
    private func warnOfFixedSettings(_ configuration: Configuration) {
        let now = Self.fixed(configuration)
        let changed = fixed.keys.filter { now[$0] != fixed[$0] }.sorted()
        guard !changed.isEmpty else { return }
        logger.warning("changed, but applied only by a restart: \(changed.joined(separator: ", "))")
    }
}
