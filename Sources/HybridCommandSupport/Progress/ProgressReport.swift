// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads

/// Tells on standard error what happens in a ceremony, state by state.
///
/// A person at a terminal sees the present state in place, with the time it has taken so far; those before it stand
/// above, each with its time. On a pipe each state is a line. For a program each is a JSON object on a line of its own
/// (NDJSON): `event` says what it is, `elapsed_ms` when it was, counted from the beginning.
public final class ProgressReport: Sendable {
    /// Who reads it.
    public enum Manner: Sendable {
        /// A file, a pipe, or a terminal on which somebody else writes, too.
        case lines
        /// A terminal of our own.
        case terminal
        /// A program.
        case json

        /// What standard error is good for.
        public static func fitting(json: Bool) -> Manner {
            if json { return .json }
            let terminal = getenv("TERM").map { String(cString: $0) } ?? "dumb"
            return isatty(STDERR_FILENO) == 1 && !terminal.isEmpty && terminal != "dumb" ? .terminal : .lines
        }
    }

    private struct Present {
        var state: ProgressState
        let begun: ContinuousClock.Instant
    }

    /// Who reads it.
    public let manner: Manner
    private let program: String
    private let begun = ContinuousClock.now
    /// The state that stands on the terminal's last line, if one does.
    ///
    /// The lock keeps lines whole and in order.
    private let present = Locked<Present?>(nil)

    /// A report that begins now.
    public init(program: String, manner: Manner) {
        self.program = program
        self.manner = manner
    }

    /// The next state; the one before is over.
    public func enter(_ state: ProgressState) {
        present.withLock { present in
            switch manner {
            case .lines:
                StandardError.writeLine("\(program): \(state.text) (\(ElapsedTime.words(.now - begun)))")
            case .json: writeEvent("state", [("state", state.name)] + state.details)
            case .terminal:
                settle(&present)
                present = Present(state: state, begun: .now)
                draw(present)
            }
        }
    }

    /// Something to know that is no state.
    public func tell(_ notice: ProgressState) {
        present.withLock { present in
            switch manner {
            case .lines: StandardError.writeLine("\(program): \(notice.text)")
            case .json:
                writeEvent("notice", [("notice", notice.name), ("message", notice.text)] + notice.details)
            case .terminal:
                erase(present)
                StandardError.writeLine("\(program): \(notice.text)")
                draw(present)
            }
        }
    }

    /// An event for programs only; a person is shown it otherwise.
    public func event(_ name: String, _ fields: [(name: String, value: String)]) {
        guard manner == .json else { return }
        present.withLock { _ in writeEvent(name, fields) }
    }

    /// A drawing of several lines for a person.
    public func draw(_ picture: String) {
        guard manner != .json else { return }
        present.withLock { present in
            erase(present)
            StandardError.writeText(picture)
            draw(present)
        }
    }

    /// The last word: it went well.
    public func end(_ state: ProgressState) {
        present.withLock { present in
            settle(&present)
            if manner == .json {
                writeEvent("state", [("state", state.name)] + state.details)
            } else {
                StandardError.writeLine("\(program): \(state.text) (\(ElapsedTime.words(.now - begun)))")
            }
        }
    }

    /// The last word: why nothing came of it.
    public func end(_ failure: CommandFailure) {
        present.withLock { present in
            settle(&present)
            if manner == .json {
                writeEvent(
                    "error",
                    [("code", failure.code), ("message", failure.message), ("remedy", failure.remedy ?? "")]
                        + failure.details.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
                )
            } else {
                StandardError.writeLine("\(program): \(failure.sentence)")
            }
        }
    }

    /// Runs `body`, and on a terminal lets the present state's time go on meanwhile.
    public func whileTicking<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard manner == .terminal else { return try await body() }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                // Once a second is enough for a person, and cheap for a battery.
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
        present.withLock { present in
            erase(present)
            draw(present)
        }
    }

    // MARK: - The terminal's last line

    /// Leaves the present state as a line with the time that it took.
    private func settle(_ present: inout Present?) {
        guard let last = present else { return }
        erase(present)
        StandardError.writeLine(line(last))
        present = nil
    }

    private func draw(_ present: Present?) {
        guard let present else { return }
        StandardError.writeText(line(present))
    }

    private func erase(_ present: Present?) {
        // Back to the line's beginning, and nothing on it.
        if present != nil { StandardError.writeText("\r\u{1B}[K") }
    }

    /// One line that a terminal does not wrap, since only one could be erased.
    private func line(_ present: Present) -> String {
        let time = ElapsedTime.words(.now - present.begun)
        let padded = String(repeating: " ", count: max(0, 8 - time.utf8.count)) + time
        return String(StandardError.oneLine("\(padded)  \(present.state.text)").prefix(Self.columns - 1))
    }

    private static var columns: Int {
        var window = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 1 else { return 80 }
        return Int(window.ws_col)
    }

    // MARK: - For programs

    private func writeEvent(_ name: String, _ fields: [(name: String, value: String)]) {
        let milliseconds = Int((ContinuousClock.now - begun) / .milliseconds(1))
        let object = JSONText.object(
            [("event", .text(name)), ("elapsed_ms", .number(milliseconds))] + fields.map { ($0.name, .text($0.value)) }
        )
        StandardError.writeLine(object.description)
    }
}
