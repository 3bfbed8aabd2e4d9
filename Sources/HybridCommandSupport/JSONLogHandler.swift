// SPDX-License-Identifier: Apache-2.0

private import Glibc
public import Logging

/// Log lines for programs: one JSON object each on standard error, with `time` (UTC, to the millisecond), `level`,
/// `message` and then the event's fields in the order of their names.
///
/// Whole numbers and truth values stay what they are; everything else is text, an object or an array. A field that
/// has one of the three names above gets an underscore after it. An error attached to an event is not written:
/// what it would say of strangers is not known here.
public struct JSONLogHandler: LogHandler {
    /// Lines below this level are dropped.
    public var logLevel: Logger.Level
    /// Fields of every line.
    public var metadata: Logger.Metadata = [:]
    /// Where further fields come from, if from anywhere.
    public var metadataProvider: Logger.MetadataProvider?
    private let emit: @Sendable (String) -> Void

    /// A handler that writes to standard error.
    public init(logLevel: Logger.Level = .info) {
        self.init(logLevel: logLevel, emit: StandardError.writeText)
    }

    /// A handler that gives each line, with its newline, to a function.
    init(logLevel: Logger.Level, emit: @escaping @Sendable (String) -> Void) {
        self.logLevel = logLevel
        self.emit = emit
    }

    /// A field of every line.
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

    /// The line of an event at a time that is given in seconds since 1970.
    func line(of event: LogEvent, at seconds: Int, nanoseconds: Int) -> String {
        var fields = metadata
        fields.merge(metadataProvider?.get() ?? [:]) { _, new in new }
        fields.merge(event.metadata ?? [:]) { _, new in new }
        var members: [(String, JSONText)] = [
            ("time", .text(timestamp(seconds, nanoseconds: nanoseconds))),
            ("level", .text(event.level.rawValue)),
            ("message", .text(event.message.description)),
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
        case .string(let text): .text(text)
        case .stringConvertible(let value as Bool): .boolean(value)
        case .stringConvertible(let value as any FixedWidthInteger):
            Int(exactly: value).map(JSONText.number) ?? .text(value.description)
        case .stringConvertible(let value as Double): .decimal(value)
        case .stringConvertible(let value): .text(value.description)
        case .dictionary(let fields):
            .object(fields.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) })
        case .array(let elements): .list(elements.map(json))
        }
    }
}

/// The time as RFC 3339 writes it: `2026-01-31T08:05:09.120Z`.
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
