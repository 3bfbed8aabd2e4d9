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
        var fields = metadata
        fields.merge(metadataProvider?.get() ?? [:]) { _, new in new }
        fields.merge(event.metadata ?? [:]) { _, new in new }
        let level = event.level == .info ? "" : "\(event.level): "
        let tail = fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "\(label): \(level)\(event.message)\(tail)"
    }
}
