// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The terminal that a pinentry program uses if there is no display.
struct PinentryTerminal {
    /// Path of the terminal, for `OPTION ttyname`.
    let name: String?
    /// Kind of the terminal, for `OPTION ttytype`.
    let type: String?
    /// Character set, for `OPTION lc-ctype`.
    let characters: String?

    /// Creates the description of the first that exists: `GPG_TTY`, the terminal of standard input or error, or the
    /// controlling terminal.
    init(environment: [String: String]) {
        func value(_ names: String...) -> String? {
            names.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        name = value("GPG_TTY") ?? Self.name(of: STDIN_FILENO) ?? Self.name(of: STDERR_FILENO) ?? Self.controlling
        type = value("TERM")
        characters = value("LC_ALL", "LC_CTYPE", "LANG")
    }

    private static func name(of descriptor: Int32) -> String? {
        guard isatty(descriptor) == 1 else { return nil }
        var buffer = [CChar](repeating: 0, count: 256)
        guard ttyname_r(descriptor, &buffer, buffer.count) == 0 else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static var controlling: String? {
        let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        close(descriptor)
        return "/dev/tty"
    }
}

/// Settings of the terminal before a prompt.
///
/// A prompt that is killed cannot restore them itself.
struct TerminalSettings: ~Copyable {
    private let descriptor: Int32
    private var settings = termios()

    /// Saves the settings of a terminal; `nil` if there is none or it cannot be accessed.
    init?(name: String?) {
        guard let name else { return nil }
        let descriptor = open(name, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        guard tcgetattr(descriptor, &settings) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Discards what the user has typed and no program has read.
    func discardInput() {
        guard tcgetpgrp(descriptor) == getpgrp() else { return }
        tcflush(descriptor, TCIFLUSH)
    }

    /// Restores the settings, unless this process is in the background: then the kernel would stop it.
    func restore() {
        guard tcgetpgrp(descriptor) == getpgrp() else { return }
        var settings = settings
        tcsetattr(descriptor, TCSANOW, &settings)
    }
}
