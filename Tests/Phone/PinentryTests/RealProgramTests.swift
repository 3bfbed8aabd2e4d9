// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import HybridPinentry

/// Debian's pinentry programs on a pseudo-terminal with scripted input.
@Suite("Real pinentry programs")
struct RealProgramTests {
    static let programs = ["/usr/bin/pinentry-curses", "/usr/bin/pinentry-tty"]
    static var installed: [String] { programs.filter { access($0, X_OK) == 0 } }

    @Test("pinentry-curses and pinentry-tty are installed", .enabled(if: installed.isEmpty, "both are tested below"))
    func present() { withKnownIssue("no pinentry program here; nothing of this suite ran") { Issue.record("missing") } }

    @Test("A PIN is typed and returned", arguments: installed)
    func typed(program: String) async throws {
        let keyboard = try Keyboard()
        let client = try keyboard.client(program)
        async let secret = client.getPIN(
            description: "example.com",
            prompt: "PIN:"
        )
        try await Waiting.until("the prompt") { keyboard.screen().contains("PIN:") }
        keyboard.type("24%68\r")
        #expect(try await secret.text == "24%68")
        #expect(keyboard.screen().contains("example.com"))
    }

    @Test("A new PIN is typed twice, even if the program does not repeat the prompt", arguments: installed)
    func typedTwice(program: String) async throws {
        let keyboard = try Keyboard()
        let client = try keyboard.client(program)
        async let secret = client.getNewPIN(
            description: "first",
            texts: NewPINTexts(prompt: "New:", repeatPrompt: "Again:", mismatch: "Differ", repetition: "")
        ) { _ in nil }
        try await Waiting.until("the prompt") { keyboard.screen().contains("New:") }
        // Newer versions of pinentry-curses have both fields in one window.
        keyboard.type(keyboard.screen().contains("Again:") ? "1234\t" : "1234\r")
        try await Waiting.until("the prompt") { keyboard.screen().contains("Again:") }
        keyboard.type("1234\r")
        #expect(try await secret.text == "1234")
    }

    @Test("Cancelling the task removes the prompt from the terminal", arguments: installed)
    func takenDown(program: String) async throws {
        let keyboard = try Keyboard()
        let client = try keyboard.client(program)
        let failure = await withTaskGroup(of: PinentryError?.self) { group in
            group.addTask {
                do throws(PinentryError) {
                    _ = try await client.getPIN(description: "d", prompt: "PIN:")
                    return nil
                } catch { return error }
            }
            try? await Waiting.until("the prompt") { keyboard.screen().contains("PIN:") }
            group.cancelAll()
            return await group.next() ?? nil
        }
        #expect(failure == .interrupted)
    }

    @Test("A prompt without input times out", arguments: installed)
    func timeout(program: String) async throws {
        let keyboard = try Keyboard()
        let client = try keyboard.client(program, timeout: .seconds(1))
        await #expect(throws: PinentryError.timedOut) {
            try await client.getPIN(description: "d", prompt: "PIN:")
        }
    }

    @Test(
        "Each button returns its answer",
        arguments: installed,
        [("u", ConfirmAnswer.yes), ("n", .no), ("d", .cancelled)]
    )
    func pressed(program: String, key: (letter: String, answer: ConfirmAnswer)) async throws {
        let keyboard = try Keyboard()
        let client = try keyboard.client(program)
        async let answer = client.confirm(
            description: "Which account?",
            ok: "_Use",
            notOK: "_Next",
            cancel: "_Decline"
        )
        // pinentry-tty asks for a key after it lists the buttons.
        let last = program.hasSuffix("tty") ? "[udn]" : "ecline"
        try await Waiting.until("the prompt") { keyboard.screen().contains(last) }
        if program.hasSuffix("tty") {
            keyboard.type(key.letter)
        } else {
            // pinentry-curses focuses the first button; Tab moves on, Return presses.
            let order = ["u", "n", "d"]
            keyboard.type(String(repeating: "\t", count: order.firstIndex(of: key.letter) ?? 0) + "\r")
        }
        #expect(try await answer == key.answer)
    }
}

/// The controlling side of a pseudo-terminal.
final class Keyboard: Sendable {
    private let main: Int32
    private let terminal: Int32
    private let name: String

    init() throws {
        // openpty would leak its descriptors into programs that other tests start.
        let main = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        try #require(main >= 0)
        // TIOCSPTLCK and TIOCGPTN; Swift cannot import their macros.
        var (lock, number): (Int32, UInt32) = (0, 0)
        try #require(ioctl(main, 0x4004_5431, &lock) == 0 && ioctl(main, 0x8004_5430, &number) == 0)
        self.name = "/dev/pts/\(number)"
        let terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(terminal >= 0)
        var size = winsize(ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(main, UInt(TIOCSWINSZ), &size) == 0)
        (self.main, self.terminal) = (main, terminal)
    }

    deinit {
        close(main)
        close(terminal)
    }

    func client(
        _ program: String,
        kind: String = "xterm",
        locale: String = "C.UTF-8",
        timeout: Duration = .seconds(90)
    ) throws -> Pinentry {
        let environment = ["GPG_TTY": name, "TERM": kind, "LC_ALL": locale]
        return try Pinentry(program, "Sign in", timeout, environment: environment, limits: .patient)
    }

    func type(_ keys: String) {
        _ = Array(keys.utf8).withUnsafeBytes { write(main, $0.baseAddress, $0.count) }
    }

    private let seen = Screen()

    /// Returns everything that was written to the terminal.
    func screen() -> String {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = read(main, &bytes, bytes.count)
        if count > 0 { seen.append(bytes[..<count]) }
        return seen.text
    }

    /// Returns the current rows of the screen; the terminal must be a vt100.
    func rows() -> [String] {
        _ = screen()
        return seen.rows
    }
}
