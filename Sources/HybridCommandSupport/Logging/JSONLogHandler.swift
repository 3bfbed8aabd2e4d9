// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives
public import Logging

/// A log handler for programs: one JSON object for each event on standard error.
///
/// The object has `time` (UTC, in milliseconds), `level`, `message`, and then the event's fields sorted by name.
/// Integers and Booleans keep their type; all else becomes a string, an object or an array. A field that has one of the
/// three names above gets an underscore appended. An event's error is not written, since its text may hold addresses of
/// users.
public struct JSONLogHandler: LogHandler {
    /// The lowest level that is written.
    public var logLevel: Logger.Level
    /// The fields of every line.
    public var metadata: Logger.Metadata = [:]
    /// A source of further fields.
    public var metadataProvider: Logger.MetadataProvider?
    private let emit: @Sendable (String) -> Void

    /// Creates a handler that writes to standard error.
    public init(logLevel: Logger.Level = .info) {
        self.init(logLevel: logLevel, emit: StandardError.writeText)
    }

    /// Creates a handler that passes each line, with its newline, to a function.
    init(logLevel: Logger.Level, emit: @escaping @Sendable (String) -> Void) {
        self.logLevel = logLevel
        self.emit = emit
    }

    /// Accesses a field of every line.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    public func log(event: LogEvent) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        emit(line(of: event, at: now.tv_sec, nanoseconds: now.tv_nsec) + "\n")
    }

    /// Returns the line of an event; the time is given in seconds since 1970.
    func line(of event: LogEvent, at seconds: Int, nanoseconds: Int) -> String {
        var fields = metadata
        fields.merge(metadataProvider?.get() ?? [:]) { _, new in new }
        fields.merge(event.metadata ?? [:]) { _, new in new }
        var members: [(String, JSONText)] = [
            ("time", .string(timestamp(seconds, nanoseconds: nanoseconds))),
            ("level", .string(event.level.rawValue)),
            ("message", .string(event.message.description)),
        ]
        var names = Set(members.map(\.0))
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
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
    func padded(_ number: Int, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(width - text.count, 0)) + text
    }
    let date =
        "\(padded(Int(parts.tm_year) + 1900, 4))-\(padded(Int(parts.tm_mon) + 1, 2))-\(padded(Int(parts.tm_mday), 2))"
    let time = "\(padded(Int(parts.tm_hour), 2)):\(padded(Int(parts.tm_min), 2)):\(padded(Int(parts.tm_sec), 2))"
    return "\(date)T\(time).\(padded(nanoseconds / 1_000_000, 3))Z"
}
