// SPDX-License-Identifier: Apache-2.0

internal import CHybridGTK
internal import Glibc
internal import HybridLineInput
internal import HybridPrimitives
internal import HybridProgram
internal import HybridPromptModel

/// A run of the program: standard input, the window and standard output around a ``PromptModel``.
///
/// GLib calls all handlers on the thread that runs ``run()``.
final class PromptProgram {
    private let lines = LineBuffer()
    private let loop = g_main_loop_new(nil, 0)
    private var model = PromptModel()
    private var window: PromptWindow?
    private var timer: guint = 0
    private var failure: CommandFailure?

    /// Opens the display.
    ///
    /// - Throws: ``CommandFailure`` if there is none.
    init() throws(CommandFailure) {
        // Wayland's compositors show it as the name of the application.
        g_set_prgname("hybrid-prompt")
        // Drawing without a graphics processor leaves no copy of the code in its memory, and the window appears sooner.
        setenv("GSK_RENDERER", "cairo", 0)
        guard gtk_init_check() != 0 else { throw .noDisplay }
        hybrid_apply_color_scheme()
        window = PromptWindow { [unowned self] answer in give(answer) }
        guard window != nil else { throw .noDisplay }
    }

    /// Shows the progress on standard input until the end.
    ///
    /// - Throws: ``CommandFailure`` if the input can't be shown, or an answer can't be written.
    func run() throws(CommandFailure) {
        // After events and drawing, so that a flood of input does not stop the window.
        g_unix_fd_add_full(
            CInt(G_PRIORITY_DEFAULT_IDLE),
            STDIN_FILENO,
            GIOCondition(G_IO_IN.rawValue | G_IO_HUP.rawValue | G_IO_ERR.rawValue),
            { _, _, data in PromptProgram.of(data)?.readInput() == true ? 1 : 0 },
            Unmanaged.passUnretained(self).toOpaque(),
            nil
        )
        g_main_loop_run(loop)
        if let failure { throw failure }
    }

    /// Reads the available input; returns false at its end.
    private func readInput() -> Bool {
        let goesOn = lines.read(STDIN_FILENO) { line in
            do throws(PromptInputError) {
                if failure == nil { try model.receive(line, at: .now) }
            } catch {
                end(CommandFailure("\(error); update the program that started hybrid-prompt", status: .dataError))
                give(.cancel)
            }
        }
        if !goesOn { model.endInput(at: .now) }
        update()
        return goesOn && failure == nil
    }

    /// Reports an answer of the user.
    private func give(_ answer: PromptAnswer) {
        defer {
            if answer == .cancel { g_main_loop_quit(loop) }
        }
        guard model.answer(answer, at: .now) else { return }
        do throws(CommandFailure) {
            try StandardOutput.writeLine(answer.rawValue)
        } catch {
            end(error)
        }
        update()
    }

    /// Shows the current view, and closes the window when it is time.
    private func update() {
        let now = ContinuousClock.now
        if let closing = model.closing, closing <= now { return g_main_loop_quit(loop) }
        if model.isVisible { window?.show(model.view, at: now) }
        if timer == 0, model.view.deadline != nil || model.closing != nil {
            timer = g_timeout_add(
                250,
                { data in PromptProgram.of(data)?.tick() == true ? 1 : 0 },
                Unmanaged.passUnretained(self).toOpaque()
            )
        }
    }

    /// Updates the remaining time; returns false if there is nothing to wait for.
    private func tick() -> Bool {
        let now = ContinuousClock.now
        if let closing = model.closing, closing <= now { g_main_loop_quit(loop) }
        window?.showRemaining(model.view, at: now)
        guard model.view.deadline != nil || model.closing != nil else {
            timer = 0
            return false
        }
        return true
    }

    private func end(_ failure: CommandFailure) {
        if self.failure == nil { self.failure = failure }
        g_main_loop_quit(loop)
    }

    private static func of(_ data: gpointer?) -> PromptProgram? {
        data.map { Unmanaged<PromptProgram>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension CommandFailure {
    fileprivate static let noDisplay = CommandFailure(
        "there is no display for a window; set WAYLAND_DISPLAY or DISPLAY, or show the code in a terminal",
        status: .unavailable
    )
}
