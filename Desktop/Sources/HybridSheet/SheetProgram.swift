// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridAskModel
internal import HybridLineInput
internal import HybridPrimitives
internal import HybridProgram
internal import HybridWidgets

/// A run of the program: standard input, the window and standard output around a `SheetModel`.
final class SheetProgram {
    private let loop = GLibLoop()
    private let lines = LineBuffer(maximumLength: SheetModel.maximumLine)
    private var model = SheetModel { count in
        // Two different positions of those that there are.
        let first = Int.random(in: 0..<count - 1)
        return [first, Int.random(in: first + 1..<count)]
    }
    private let window: SheetWindow
    private var timer: GLibSource?
    private var failure: CommandFailure?

    /// Connects to the display.
    ///
    /// - Throws: ``CommandFailure`` if there is none.
    init() throws(CommandFailure) {
        // Without a graphics processor, the window appears sooner, and needs less memory.
        guard Toolkit.start(renderer: "cairo") else { throw .noDisplay }
        window = SheetWindow()
        window.agree = { [unowned self] typed, account in give(model.agree(typed, account: account, at: .now)) }
        window.decline = { [unowned self] in give(model.decline(at: .now)) }
        window.appeared = { [unowned self] in
            // This may be in the middle of an update.
            GLibSource.after(milliseconds: 0) { [unowned self] in
                model.appear(at: .now)
                update()
            }
        }
        window.goBack = { [unowned self] in
            model.goBack(at: .now)
            update()
        }
    }

    /// Asks questions until the end.
    ///
    /// - Throws: ``CommandFailure`` if an answer can't be written.
    func run() throws(CommandFailure) {
        for signal in [SIGTERM, SIGINT] {
            GLibSource.onSignal(signal) { [unowned self] in
                loop.quit()
                return true
            }
        }
        write(.ready)
        GLibSource.whenReadable(STDIN_FILENO) { [unowned self] in readInput() }
        if failure == nil { loop.run() }
        if let failure { throw failure }
    }

    /// Reads the available input; returns false at its end.
    private func readInput() -> Bool {
        let goesOn = lines.read(STDIN_FILENO) { line in
            if let answer = model.receive(line, at: .now) { write(answer) }
        }
        if !goesOn { model.endInput(at: .now) }
        update()
        return goesOn && failure == nil
    }

    private func give(_ answer: SheetAnswer?) {
        if let answer { write(answer) }
        update()
    }

    /// Writes an answer from the memory that is wiped.
    private func write(_ answer: SheetAnswer) {
        var rest = UnsafeRawBufferPointer(answer.line.memory)
        while !rest.isEmpty {
            let count = Glibc.write(STDOUT_FILENO, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                failure = .outputNotWritten
                return loop.quit()
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Shows the current view, and closes the window when it is time.
    private func update() {
        let now = ContinuousClock.now
        if let closing = model.closing, closing <= now { return loop.quit() }
        model.isVisible ? window.show(model.view, at: now) : window.hide()
        guard timer == nil, isTimed(at: now) else { return }
        timer = GLibSource.every(milliseconds: 100) { [unowned self] in tick() }
    }

    /// Updates what depends on the time; returns false if there is nothing to wait for.
    private func tick() -> Bool {
        let now = ContinuousClock.now
        if let closing = model.closing, closing <= now { loop.quit() }
        window.showTime(model.view, at: now)
        guard isTimed(at: now) else {
            timer = nil
            return false
        }
        return true
    }

    private func isTimed(at now: ContinuousClock.Instant) -> Bool {
        let isDelayed = model.view.agreeableFrom.map { $0 > now } ?? false
        return isDelayed || model.view.deadline != nil || model.closing != nil
    }
}

extension CommandFailure {
    fileprivate static let noDisplay = CommandFailure(
        "there is no display for a window; set WAYLAND_DISPLAY or DISPLAY, or let hybrid-auth use pinentry",
        status: .unavailable
    )
}
