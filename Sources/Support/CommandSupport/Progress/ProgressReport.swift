// SPDX-License-Identifier: Apache-2.0

private import Glibc
package import HybridPrimitives
package import HybridProgram
internal import HybridThreads

/// The progress of a ceremony on standard error, state by state.
///
/// On a terminal, the current state is updated in place with its elapsed time; earlier states stay above it. On a pipe,
/// each state is a line. For programs, each state is a line of JSON (NDJSON): `event` names its kind, and `elapsed_ms`
/// is the time since the start.
package final class ProgressReport: Sendable {
    /// The form of the report.
    package enum Format: Sendable {
        /// Plain lines, for a file, a pipe, or a terminal that other programs write to.
        case lines
        /// A terminal that only this program writes to.
        case terminal
        /// JSON for programs.
        case json

        /// Returns the format for this process's standard error.
        package static func detect(json: Bool) -> Format {
            if json { return .json }
            let terminal = getenv("TERM").map { String(cString: $0) } ?? "dumb"
            return isatty(STDERR_FILENO) == 1 && !terminal.isEmpty && terminal != "dumb" ? .terminal : .lines
        }
    }

    private struct Current {
        var state: ProgressState
        let begun: ContinuousClock.Instant
    }

    /// The form of the report.
    package let format: Format
    private let program: String
    private let begun = ContinuousClock.now
    /// The state on the terminal's last line, if any.
    ///
    /// The lock also keeps lines whole and in order.
    private let current = Locked<Current?>(nil)

    /// Creates a report that starts now.
    package init(program: String, format: Format) {
        self.program = program
        self.format = format
    }

    /// Enters the next state.
    package func enter(_ state: ProgressState) {
        current.withLock { current in
            settle(&current)
            guard format == .terminal else { return write(state) }
            current = Current(state: state, begun: .now)
            draw(current)
        }
    }

    /// Reports a notice, which does not change the state.
    package func notify(_ notice: ProgressState) {
        current.withLock { current in
            guard format != .json else {
                let fields = [("notice", notice.name), ("message", notice.text)] + notice.details
                return writeEvent("notice", Self.texts(fields))
            }
            erase(current)
            StandardError.writeLine("\(program): \(notice.text)")
            draw(current)
        }
    }

    /// Reports an event to programs only, because users see it in another form.
    package func emit(_ name: String, _ fields: [(name: String, value: JSONText)]) {
        guard format == .json else { return }
        current.withLock { _ in writeEvent(name, fields) }
    }

    /// Shows users a drawing of several lines.
    package func draw(_ drawing: String) {
        guard format != .json else { return }
        current.withLock { current in
            erase(current)
            StandardError.writeText(drawing)
            draw(current)
        }
    }

    /// Reports success and ends the report.
    package func end(_ state: ProgressState) {
        current.withLock { current in
            settle(&current)
            write(state)
        }
    }

    /// Ends the report without a result, which another process reports.
    package func end() { current.withLock { settle(&$0) } }

    /// Reports a failure and ends the report.
    package func end(_ failure: CommandFailure) {
        current.withLock { current in
            settle(&current)
            guard format == .json else { return StandardError.writeLine("\(program): \(failure.sentence)") }
            writeEvent("error", failure.members)
        }
    }

    /// Runs `body`; on a terminal, updates the elapsed time of the current state meanwhile.
    package func updatingElapsedTime<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard format == .terminal else { return try await body() }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                // Once a second is enough for users and saves power.
                while (try? await Task.sleep(for: .seconds(1))) != nil { self.redraw() }
                return nil
            }
            defer { group.cancelAll() }
            while let ended = try await group.next() {
                if let result = ended { return result }
            }
            throw CancellationError()
        }
    }

    private func redraw() {
        current.withLock { current in
            erase(current)
            draw(current)
        }
    }

    private func write(_ state: ProgressState) {
        if format == .json {
            writeEvent("state", Self.texts([("state", state.name)] + state.details))
        } else {
            StandardError.writeLine("\(program): \(state.text) (\(ElapsedTime.text(.now - begun)))")
        }
    }

    fileprivate static func texts(_ fields: [(name: String, value: String)]) -> [(name: String, value: JSONText)] {
        fields.map { ($0.name, .string($0.value)) }
    }

    private func writeEvent(_ name: String, _ fields: [(name: String, value: JSONText)]) {
        let milliseconds = Int((ContinuousClock.now - begun) / .milliseconds(1))
        let object = JSONText.object(
            [("event", .string(name)), ("elapsed_ms", .number(milliseconds))] + fields.map { ($0.name, $0.value) }
        )
        StandardError.writeLine(object.description)
    }

    // MARK: - The terminal's last line

    /// Turns the current state into a permanent line with its elapsed time.
    private func settle(_ current: inout Current?) {
        guard let last = current else { return }
        erase(current)
        StandardError.writeLine(line(last))
        current = nil
    }

    private func draw(_ current: Current?) {
        guard let current else { return }
        StandardError.writeText(line(current))
    }

    private func erase(_ current: Current?) {
        // Carriage return, then "erase to end of line".
        if current != nil { StandardError.writeText("\r\u{1B}[K") }
    }

    /// Returns one line that the terminal does not wrap, because only the last line can be erased.
    private func line(_ current: Current) -> String {
        let time = ElapsedTime.text(.now - current.begun)
        let padded = String(repeating: " ", count: max(0, 8 - time.utf8.count)) + time
        return String(StandardError.oneLine("\(padded)  \(current.state.text)").prefix(Self.columns - 1))
    }

    private static var columns: Int {
        var window = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 1 else { return 80 }
        return Int(window.ws_col)
    }
}

extension CommandFailure {
    /// The members of an object that states the failure for programs: `code`, `message`, `remedy` and further facts.
    package var members: [(name: String, value: JSONText)] {
        let facts = details.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        let texts: [(name: String, value: String)] = [
            ("code", code), ("message", message), ("remedy", remedy ?? ""),
        ]
        let wait = waitSeconds.map { [(name: "waitSeconds", value: JSONText.number($0))] }
        return ProgressReport.texts(texts + facts) + (wait ?? [])
    }
}
