// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives
internal import HybridProgram
package import Logging

/// A log handler for programs: one line for each event on standard error.
///
/// Fields of an event override those of the metadata provider, which override those of the handler. A line has them
/// sorted by name. The error of an event is not written, because its text may contain addresses of users.
package struct ProgramLogHandler: LogHandler {
    /// The form of the lines.
    package enum Format: Sendable {
        /// `label: [level: ]message key=value …`, for consoles; the label is the program's name.
        ///
        /// `info` lines have no level. There is no time, because the journal and containers add their own.
        case console(label: String)
        /// A JSON object with `time` (UTC, in milliseconds), `level`, `message`, and then the event's fields.
        ///
        /// Numbers and Booleans keep their type; other values become strings, objects or arrays. If a field has one of
        /// the three names above, an underscore is appended.
        case json
    }

    /// The lowest level that is written.
    package var logLevel: Logger.Level
    /// The fields of every line.
    package var metadata: Logger.Metadata = [:]
    /// A source of further fields.
    package var metadataProvider: Logger.MetadataProvider?
    private let format: Format
    private let emit: @Sendable ([UInt8]) -> Void

    /// Creates a handler that writes to standard error.
    package init(_ format: Format, logLevel: Logger.Level = .info) {
        self.init(format, logLevel: logLevel, emit: StandardError.writeLine(utf8:))
    }

    /// Creates a handler that passes each line, in UTF-8 and without its newline, to a function.
    init(_ format: Format, logLevel: Logger.Level, emit: @escaping @Sendable ([UInt8]) -> Void) {
        self.format = format
        self.logLevel = logLevel
        self.emit = emit
    }

    /// Makes lines on standard error never wait for what reads them; a line in this form then reports lost ones.
    package static func neverBlock(_ format: Format) {
        StandardError.neverBlock { count in
            let text = StandardError.lostLinesText(count)
            guard case .console(let label) = format else {
                var now = timespec()
                clock_gettime(CLOCK_REALTIME, &now)
                let time = timestamp(now.tv_sec, nanoseconds: now.tv_nsec)
                let members: [(String, JSONText)] = [
                    ("time", .string(time)), ("level", .string("warning")), ("message", .string(text)),
                ]
                return JSONText.object(members).description
            }
            return "\(label): warning: \(text)"
        }
    }

    /// Accesses a field of every line.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    package func log(event: LogEvent) {
        switch format {
        case .console(let label): emit(line(of: event, label: label))
        case .json:
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            emit(Array(line(of: event, at: now.tv_sec, nanoseconds: now.tv_nsec).utf8))
        }
    }

    private func fields(of event: LogEvent) -> [(key: String, value: Logger.MetadataValue)] {
        var fields = event.metadata ?? [:]
        if let metadataProvider { fields.merge(metadataProvider.get()) { old, _ in old } }
        if !metadata.isEmpty { fields.merge(metadata) { old, _ in old } }
        return fields.sorted { $0.key < $1.key }
    }

    /// Returns the line of an event for consoles, in UTF-8.
    ///
    /// It consists of bytes, because appending to a string takes several times as long, and a busy relay writes many
    /// lines.
    func line(of event: LogEvent, label: String) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(240)
        line += label.utf8
        line += ": ".utf8
        if event.level != .info {
            line += event.level.rawValue.utf8
            line += ": ".utf8
        }
        line += event.message.description.utf8
        for (name, value) in fields(of: event) {
            line.append(UInt8(ascii: " "))
            line += name.utf8
            line.append(UInt8(ascii: "="))
            if case .string(let text) = value { line += text.utf8 } else { line += value.description.utf8 }
        }
        return line
    }

    /// Returns the JSON of an event; the time is given in seconds since 1970.
    func line(of event: LogEvent, at seconds: Int, nanoseconds: Int) -> String {
        var members: [(String, JSONText)] = [
            ("time", .string(timestamp(seconds, nanoseconds: nanoseconds))),
            ("level", .string(event.level.rawValue)),
            ("message", .string(event.message.description)),
        ]
        var names = Set(members.map(\.0))
        for (name, value) in fields(of: event) {
            var unused = name
            while !names.insert(unused).inserted { unused += "_" }
            members.append((unused, json(value)))
        }
        return JSONText.object(members).description
    }

    private func json(_ value: Logger.MetadataValue) -> JSONText {
        switch value {
        case .string(let text): .string(text)
        case .stringConvertible(let value as Bool): .boolean(value)
        case .stringConvertible(let value as any FixedWidthInteger):
            Int(exactly: value).map(JSONText.number) ?? .string(value.description)
        case .stringConvertible(let value as Double): .decimal(value)
        case .stringConvertible(let value): .string(value.description)
        case .dictionary(let fields):
            .object(fields.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) })
        case .array(let elements): .array(elements.map(json))
        }
    }
}

/// Returns a time as RFC 3339 writes it: `2026-01-31T08:05:09.120Z`.
private func timestamp(_ seconds: Int, nanoseconds: Int) -> String {
    var seconds = seconds
    var parts = tm()
    gmtime_r(&seconds, &parts)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &parts)
    let time = String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    return "\(time).\(String(1000 + nanoseconds / 1_000_000).dropFirst())Z"
}
