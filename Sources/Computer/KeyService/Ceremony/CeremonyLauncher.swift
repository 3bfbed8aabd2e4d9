// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridCTAP
internal import HybridPrimitives
package import HybridProgram
internal import HybridThreads

/// The outcome of a ceremony.
package enum CeremonyOutcome: Hashable, Sendable {
    /// A phone has performed the request.
    case answered(CeremonyAnswer)
    /// The phone has refused the request; the prompt shows the reason, too.
    case refused(CTAPStatus, CommandFailure)
    /// The user canceled at the prompt, or the client has left.
    case cancelled
    /// The ceremony failed; the prompt shows the reason, too, unless it has ended itself.
    case failed(CommandFailure)
    /// The session is locked, so neither a window nor a phone was used.
    case sessionLocked
}

/// A reason why there is no window.
enum WindowRefusal: Error, Hashable {
    /// The session is locked.
    case sessionLocked
    /// The prompt can't be started.
    case notStarted
    /// The client has left before it was its turn.
    case withdrawn
    /// Another window was open for too long.
    case timedOut
}

/// The place where one request is shown; used by one thread.
final class RequestWindowDisplay {
    fileprivate let display: CeremonyDisplay
    /// The prompt, if there is one: the only display that the user can answer before the ceremony.
    let prompt: PromptProcess?
    fileprivate let turn: WindowTurn.Taken

    fileprivate init(_ display: CeremonyDisplay, _ prompt: PromptProcess?, _ turn: WindowTurn.Taken) {
        self.display = display
        self.prompt = prompt
        self.turn = turn
    }
}

/// A launcher of ceremonies, each in a process of its own, which alone uses the network and the radio.
///
///     this process                      ceremony                 prompt
///        │ request, then open ────────→ stdin │                     │
///        │                             stderr │ ── progress ──→ stdin
///        │ ←─────────────────── cancel, show-code, proceed ── stdout
///        │ show-code, use-phone ──────→ stdin │                     │
///        │ ←─ response, or failure ─── stdout │                     │
///
/// The secret of the code passes from the ceremony to the prompt directly. If this process ends, both see the end of
/// their input and end, too.
package struct CeremonyLauncher: Sendable {
    /// Maximum length of an encoded answer in bytes, which fits every answer to a website.
    static let maximumResponse = 260 * 1024
    /// Time for the process to end after a cancellation; it sends a last message to the phone.
    private static let endTimeout = Duration.seconds(8)
    /// Time to wait while another window is open, as in the queue of the agent.
    private static let turnTimeout = SigningQueue<SigningJob>.patience
    /// Time beyond the limits of the user, for connecting.
    private static let connectionTimeout = Duration.seconds(60)

    private let program: [String]
    private let arguments: [String]
    private let display: @Sendable () -> CeremonyDisplay
    private let isLocked: @Sendable () -> Bool
    private let showProgress: @Sendable (String) -> Void
    private let turn = WindowTurn()
    /// The prompt of the previous ceremony, which may still show its result.
    private let previousPrompt = Locked<ChildProcess?>(nil)

    /// Creates a launcher.
    ///
    /// - Parameters:
    ///   - program: The program, and the arguments before the command.
    ///   - arguments: The arguments behind the command, without `--display`.
    ///   - isLocked: Returns true while the user's session is locked.
    ///   - showProgress: Receives each line of the progress as JSON, if the display is the caller.
    ///   - display: Returns the display for the next ceremony.
    package init(
        program: [String],
        arguments: [String] = [],
        isLocked: @escaping @Sendable () -> Bool = { false },
        showProgress: @escaping @Sendable (String) -> Void = { _ in },
        display: @escaping @Sendable () -> CeremonyDisplay
    ) {
        (self.program, self.arguments) = (program, arguments)
        self.isLocked = isLocked
        self.showProgress = showProgress
        self.display = display
    }

    /// Performs a ceremony; blocks until it has ended.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - event: The event `request` for a prompt, on one line.
    ///   - cancellation: Becomes active when the client has left.
    package func perform(
        _ request: CeremonyRequest,
        event: String,
        cancellation: SigningCancellation?
    ) -> CeremonyOutcome {
        let window: RequestWindowDisplay
        do throws(WindowRefusal) {
            window = try open(event: event, unless: cancellation, within: Self.turnTimeout)
        } catch {
            switch error {
            case .sessionLocked: return .sessionLocked
            case .notStarted: return .failed(.promptNotStarted)
            case .withdrawn: return .cancelled
            case .timedOut: return .failed(.windowNotFree)
            }
        }
        let outcome = perform(request, in: window, cancellation: cancellation)
        leave(window)
        return outcome
    }

    /// Opens a window when no other one is open.
    ///
    /// The window of the previous request, which may still show its result, closes.
    ///
    /// - Parameters:
    ///   - event: The event `request` for a prompt, on one line, and further events on lines of their own.
    ///   - cancellation: Becomes active when the client has left.
    ///   - limit: The time to wait for other windows; `nil` for no limit.
    func open(
        event: String,
        unless cancellation: SigningCancellation?,
        within limit: Duration? = nil
    ) throws(WindowRefusal) -> RequestWindowDisplay {
        let taken: WindowTurn.Taken
        switch turn.take(unless: cancellation, within: limit) {
        case .taken(let turn): taken = turn
        case .withdrawn: throw .withdrawn
        case .timedOut: throw .timedOut
        }
        guard !isLocked() else { throw .sessionLocked }
        previousPrompt.withLock { $0.take() }?.terminate()
        let display = display()
        guard case .prompt(let path) = display else { return RequestWindowDisplay(display, nil, taken) }
        guard let prompt = PromptProcess(path: path, event: event) else { throw .notStarted }
        return RequestWindowDisplay(display, prompt, taken)
    }

    /// Leaves a window to its user; it closes by itself, or when the next window opens.
    func leave(_ window: RequestWindowDisplay) {
        if let prompt = window.prompt {
            // Without a ceremony, the end of its input closes the prompt.
            prompt.progress.closeOther()
            previousPrompt.withLock { $0 = prompt.process }
        }
        window.turn.give()
    }

    /// Performs a ceremony in a window; blocks until it has ended.
    ///
    /// If the phone has answered or the ceremony has failed, the window remains and shows the result.
    func perform(
        _ request: some CeremonyInput,
        in window: RequestWindowDisplay,
        cancellation: SigningCancellation?
    ) -> CeremonyOutcome {
        guard let input = SocketEnds(), let output = SocketEnds() else {
            return .failed(CommandFailure("no file descriptors left", status: .unavailable))
        }
        let prompt = window.prompt
        let lines = window.display == .caller ? SocketEnds().map(ProgressLines.init) : nil
        var progress = ChildProcess.Stream.inherited
        if let prompt {
            progress = .descriptor(prompt.progress.other)
        } else if let lines {
            progress = .descriptor(lines.ends.other)
        } else if window.display == .page, isatty(STDERR_FILENO) != 1 {
            // If no browser opens, the code must not be drawn into a log. The failure comes with the output.
            progress = .null
        }
        let child: ChildProcess
        do throws(ChildProcess.SpawnError) {
            child = try .spawn(
                program + [type(of: request).command] + arguments + ["--display", window.display.option],
                input: .descriptor(input.other),
                output: .descriptor(output.other),
                error: progress
            )
        } catch {
            prompt?.end()
            let sentence = "the process of the ceremony can't be started: \(error.reason)"
            return .failed(CommandFailure(sentence, status: .software))
        }
        // Only the child may keep these ends open, so that its end becomes visible.
        for ends in [input, output, prompt?.progress, lines?.ends] { ends?.closeOther() }
        input.send(request.encoded)
        let limit = Duration.seconds(2 * request.seconds) + Self.connectionTimeout
        let response = wait(output, input, prompt, lines, cancellation, until: .now + limit)
        input.closeOwn()
        defer { output.closeOwn() }
        return end(child, prompt, output, response)
    }

    /// The bytes of a response, or the reason why there is none.
    private enum Response {
        case complete([UInt8])
        case cancelled
        case promptGone
        case timedOut
    }

    /// Reads the response until its end, a cancellation or the time limit; passes on the user's wishes.
    private func wait(
        _ output: SocketEnds,
        _ input: SocketEnds,
        _ prompt: PromptProcess?,
        _ lines: ProgressLines?,
        _ cancellation: SigningCancellation?,
        until end: ContinuousClock.Instant
    ) -> Response {
        var response: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        // poll(2) ignores negative descriptors.
        let descriptors: [CInt] = [
            output.own, prompt?.answers.own ?? -1, cancellation?.descriptor ?? -1, lines?.ends.own ?? -1,
        ]
        var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            let rest = max(0, Int((end - ContinuousClock.now) / .milliseconds(1)) + 1)
            let count = poll(&polled, nfds_t(polled.count), CInt(clamping: rest))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return .timedOut }
            if polled[2].revents != 0 { return .cancelled }
            if polled[3].revents != 0, let lines {
                guard let read = lines.read() else {
                    polled[3].fd = -1
                    continue
                }
                read.forEach(showProgress)
                continue
            }
            if polled[0].revents != 0 {
                let count = recv(output.own, &chunk, chunk.count, 0)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return .complete(response) }
                response += chunk[..<count]
                // The phone has answered. The prompt may end now, earlier than the process.
                polled[1].fd = -1
                guard response.count <= Self.maximumResponse else { return .complete([]) }
            } else if polled[1].revents != 0, let prompt {
                if let end = prompt.readAnswers() {
                    return end == .cancelled ? .cancelled : .promptGone
                }
                let bytes =
                    (prompt.takeAgreement() ? [CeremonyRequest.usePhone] : [])
                    + (prompt.takeCodeRequest() ? [CeremonyRequest.showCode] : [])
                if !bytes.isEmpty { send(input.own, bytes, bytes.count, CInt(MSG_NOSIGNAL)) }
            }
        }
    }

    private func end(
        _ child: ChildProcess,
        _ prompt: PromptProcess?,
        _ output: SocketEnds,
        _ response: Response
    ) -> CeremonyOutcome {
        // After a complete response, the prompt shows the result and closes by itself.
        if case .complete = response {} else { prompt?.end() }
        let ending = child.waitBlocking(atMost: Self.endTimeout)
        if ending == nil {
            child.send(SIGKILL)
            child.waitBlocking()
        }
        switch response {
        case .cancelled: return .cancelled
        case .promptGone:
            // A ceremony that ends by itself ends its prompt, too. Otherwise the end of its input has interrupted it.
            let interruptions: [ChildProcess.Termination?] = [
                .exited(ExitStatus.interrupted.rawValue), .signaled(SIGTERM), nil,
            ]
            if interruptions.contains(ending) { return .failed(.promptEnded) }
            return outcome(of: ending, rest(of: output))
        case .timedOut: return .failed(.ceremonyNotEnded)
        case .complete(let bytes): return outcome(of: ending, bytes)
        }
    }

    /// Returns what the output holds, without waiting for its end.
    private func rest(of output: SocketEnds) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.maximumResponse)
        let count = recv(output.own, &bytes, bytes.count, CInt(MSG_DONTWAIT))
        return Array(bytes.prefix(max(0, count)))
    }

    private func outcome(of ending: ChildProcess.Termination?, _ response: [UInt8]) -> CeremonyOutcome {
        guard case .exited(let code)? = ending else { return .failed(.ceremonyFault) }
        if code == ExitStatus.done.rawValue, let answer = CeremonyAnswer(parsing: response) {
            return .answered(answer)
        }
        switch ExitStatus(rawValue: code) {
        case .interrupted: return .cancelled
        case .done, nil: return .failed(.ceremonyFault)
        case let status?:
            guard let reported = CeremonyFailure(parsing: response, status: status) else {
                return .failed(CommandFailure("the ceremony failed without a reason", status: status))
            }
            return reported.refusal.map { .refused($0, reported.failure) } ?? .failed(reported.failure)
        }
    }
}

extension CommandFailure {
    /// The program of `HYBRID_PROMPT` can't be started.
    static let promptNotStarted = CommandFailure(
        "the prompt program can't be started; see the line prompt of hybrid-key status",
        code: "prompt-not-started",
        status: .unavailable
    )

    /// The prompt program has ended before the ceremony, and not because of its user.
    static let promptEnded = CommandFailure(
        "the prompt program has ended before an answer; without a display, use a terminal (hybrid-key agent --tty for ssh)",
        code: "prompt-ended",
        status: .unavailable
    )

    /// Another window was open for too long.
    static let windowNotFree = CommandFailure("another request was open for too long; try again", status: .temporary)

    /// The process of the ceremony has ignored its own time limits.
    static let ceremonyNotEnded = CommandFailure("the ceremony did not end in time; try again", status: .temporary)

    /// The process of the ceremony has crashed, or its answer is damaged.
    static let ceremonyFault = CommandFailure(
        "internal fault: the process of the ceremony has no result; please report it",
        status: .software
    )
}
