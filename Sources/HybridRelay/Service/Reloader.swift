// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridRelayCore
internal import Logging

/// Reads certificate, tokens and limits again, and gives them to a relay that runs.
struct Reloader {
    private let options: RelayOptions
    private let files: RelayFiles
    private let descriptors: Int
    private let server: RelayServer
    private let logger: Logger
    private let reloads: ReloadHistory
    /// The settings that only a start reads, as they were then.
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
        reloads = ReloadHistory(certificateEnd: files.certificateEnd)
        fixed = Self.fixed(configuration)
    }

    /// All files of a part; the part is there if it has any.
    func files(of part: ReloadedPart) -> [String] {
        switch part {
        case .certificate: [files.certificate?.chain, files.certificate?.key].compactMap(\.self)
        case .tokens: [files.tokens].compactMap(\.self)
        case .limits: [options.configurationFile]
        }
    }

    /// Reads a part again.
    ///
    /// - Parameter isAsked: whether somebody has asked for it, not a change of a file.
    /// - Returns: whether it is as in its files now.
    func reload(_ part: ReloadedPart, isAsked: Bool) -> Bool {
        guard !files(of: part).isEmpty else { return true }
        return reloads.attempt(part, isAsked: isAsked, logger) { () throws(CommandFailure) in
            switch part {
            case .certificate:
                server.replace(transport: try files.transport())
                reloads.certificateEnds(files.certificateEnd)
            case .tokens: server.replace(tokens: try files.newTokens())
            case .limits:
                let configuration = try options.resolved()
                server.replace(limits: try LimitSettings.limits(of: configuration, descriptors: descriptors))
                tellFixed(configuration)
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

    /// Tells, by name alone, what has changed and will not count before a restart.
    private func tellFixed(_ configuration: Configuration) {
        let now = Self.fixed(configuration)
        let changed = fixed.keys.filter { now[$0] != fixed[$0] }.sorted()
        guard !changed.isEmpty else { return }
        logger.warning("changed, and only a restart will apply it: \(changed.joined(separator: ", "))")
    }
}
