// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// The terminal of the session, for what neither a pipe nor a log must get.
final class ControllingTerminal: Sendable {
    private let descriptor: CInt
    /// Maximum length of an answer in bytes.
    private static let maximumLength = 256
    private static let attempts = 3

    /// Opens the terminal; returns `nil` if there is none.
    init?() {
        descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Opens the terminal.
    ///
    /// - Throws: ``CommandFailure`` if there is none.
    static func required() throws(CommandFailure) -> ControllingTerminal {
        guard let terminal = ControllingTerminal() else {
            throw CommandFailure(
                "the copy of the key needs a terminal; run this in a terminal, or use --no-copy with --also-to or --add-phone",
                code: "no-terminal",
                status: .usage
            )
        }
        return terminal
    }

    /// Asks a question; returns true for `yes` or `y`.
    func isConfirmed(_ question: String) async -> Bool {
        await DedicatedThread.run { [self] in ["yes", "y"].contains(answer(Array(question.utf8)) ?? "") }
    }

    /// Shows a key, and asks for its last characters; returns true if they are right.
    func confirmCopy(_ key: [UInt8]) -> Bool {
        write(Array("\nThis copy alone opens everything, with plain age, on any computer. Write it down:\n\n    ".utf8))
        write(key)
        write(Array("\n\n".utf8))
        let last = String(decoding: key.suffix(6), as: UTF8.self)
        for _ in 0..<Self.attempts {
            guard let answer = answer(Array("Its last six characters: ".utf8)) else { return false }
            if answer.uppercased() == last { return true }
            write(Array("These are not its last six characters.\n".utf8))
        }
        return false
    }

    private func write(_ bytes: [UInt8]) { _ = writeAll(bytes, to: descriptor) }

    /// Ctrl-C, which ends an answer instead of this program, so that its user learns what is left on the phone.
    private static let interrupt: UInt8 = 3

    /// Returns the line that the user enters; `nil` at the end of the input, and after Ctrl-C.
    private func answer(_ question: [UInt8]) -> String? {
        var settings = termios()
        tcgetattr(descriptor, &settings)
        var changed = settings
        changed.c_lflag &= ~tcflag_t(ISIG)
        // VEOL, a further end of a line.
        changed.c_cc.11 = Self.interrupt
        tcsetattr(descriptor, TCSANOW, &changed)
        defer { tcsetattr(descriptor, TCSANOW, &settings) }
        // Keys that were pressed before are not an answer.
        tcflush(descriptor, TCIFLUSH)
        write(question)
        var line: [UInt8] = []
        while line.count <= Self.maximumLength {
            var byte: UInt8 = 0
            let count = read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != Self.interrupt else { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }
}
