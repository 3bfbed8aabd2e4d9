// SPDX-License-Identifier: Apache-2.0

public import Logging

/// Log lines for a console: `label: [level: ]message key=value …` on standard error, one line each.
///
/// The level is left out of `info` lines. There is no time: the journal and containers add their own.
public struct StderrLogHandler: LogHandler {
    /// The program's name, at the start of each line.
    public let label: String
    /// Lines below this level are dropped.
    public var logLevel: Logger.Level
    /// Fields of every line.
    public var metadata: Logger.Metadata = [:]
    /// Where further fields come from, if from anywhere.
    public var metadataProvider: Logger.MetadataProvider?

    /// A handler for a program.
    public init(label: String, logLevel: Logger.Level = .info) {
        self.label = label
        self.logLevel = logLevel
    }

    /// A field of every line.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    public func log(event: LogEvent) {
        StandardError.writeLine(line(of: event))
    }

    /// The line of an event, fields in the order of their names.
    func line(of event: LogEvent) -> String {
        var fields = event.metadata ?? [:]
        if let metadataProvider { fields.merge(metadataProvider.get()) { old, _ in old } }
        if !metadata.isEmpty { fields.merge(metadata) { old, _ in old } }
        var line = label + ": "
        if event.level != .info { line += event.level.rawValue + ": " }
        line += event.message.description
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            line += " "
            line += name
            line += "="
            if case .string(let text) = value { line += text } else { line += value.description }
        }
        return line
    }
}
