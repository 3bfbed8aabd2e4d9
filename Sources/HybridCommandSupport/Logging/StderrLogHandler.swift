// SPDX-License-Identifier: Apache-2.0

public import Logging

/// A log handler for consoles: `label: [level: ]message key=value …` on standard error, one line for each event.
///
/// `info` lines have no level. There is no time, because the journal and containers add their own.
public struct StderrLogHandler: LogHandler {
    /// The program's name, at the start of each line.
    public let label: String
    /// The lowest level that is written.
    public var logLevel: Logger.Level
    /// The fields of every line.
    public var metadata: Logger.Metadata = [:]
    /// A source of further fields.
    public var metadataProvider: Logger.MetadataProvider?

    /// Creates a handler for a program.
    public init(label: String, logLevel: Logger.Level = .info) {
        self.label = label
        self.logLevel = logLevel
    }

    /// Accesses a field of every line.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    public func log(event: LogEvent) {
        StandardError.writeLine(utf8: line(of: event))
    }

    /// Returns the line of an event in UTF-8, with its fields sorted by name.
    ///
    /// Bytes, because appending to a string costs several times as much, and a busy relay writes many lines.
    func line(of event: LogEvent) -> [UInt8] {
        var fields = event.metadata ?? [:]
        if let metadataProvider { fields.merge(metadataProvider.get()) { old, _ in old } }
        if !metadata.isEmpty { fields.merge(metadata) { old, _ in old } }
        var line: [UInt8] = []
        line.reserveCapacity(240)
        line += label.utf8
        line += ": ".utf8
        if event.level != .info {
            line += event.level.rawValue.utf8
            line += ": ".utf8
        }
        line += event.message.description.utf8
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            line.append(UInt8(ascii: " "))
            line += name.utf8
            line.append(UInt8(ascii: "="))
            if case .string(let text) = value { line += text.utf8 } else { line += value.description.utf8 }
        }
        return line
    }
}
