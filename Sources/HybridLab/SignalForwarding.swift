// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Forwarding of SIGINT, SIGTERM and SIGHUP to the command, which decides how it ends.
///
/// The command is in the same process group. It receives signals of the terminal directly, so these are not forwarded.
enum SignalForwarding {
    private struct State {
        var child: pid_t = 0
        var pending: CInt = 0
    }

    // SAFETY: The state is initialized before a handler is installed. Later it is read and written in single aligned
    // words, so a signal handler never sees a partial value. The two words are not ordered: a signal that another
    // thread handles while `start(to:)` runs may be lost, and the user repeats it. The memory is never freed, because a
    // handler may run until the process exits.
    private nonisolated(unsafe) static let state: UnsafeMutablePointer<State> = {
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        state.initialize(to: State())
        return state
    }()

    /// Installs the handlers.
    ///
    /// The last signal that is received before `start(to:)` is stored for the child.
    static func install() {
        _ = state
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            var old = sigaction()
            sigaction(signal, nil, &old)
            // Signals that are already ignored (nohup) remain ignored, here and in the command.
            if old.__sigaction_handler.sa_handler.map({ unsafeBitCast($0, to: Int.self) }) == 1 { continue }
            var action = sigaction()
            action.sa_flags = SA_SIGINFO | SA_RESTART
            action.__sigaction_handler.sa_sigaction = { signal, info, _ in
                SignalForwarding.handle(signal, fromTerminal: (info?.pointee.si_code ?? 0) > 0)
            }
            sigaction(signal, &action, nil)
        }
    }

    /// Starts forwarding to the child, beginning with a signal that was received earlier.
    static func start(to child: pid_t) {
        state.pointee.child = child
        if state.pointee.pending != 0 { kill(child, state.pointee.pending) }
    }

    /// Stops forwarding after the child has exited, because its process ID may be reused.
    static func stop() {
        state.pointee.child = 0
    }

    private static func handle(_ signal: CInt, fromTerminal: Bool) {
        // A positive `si_code` means that the kernel has sent the signal on behalf of the terminal.
        let child = state.pointee.child
        if child == 0 {
            state.pointee.pending = signal
        } else if !fromTerminal {
            kill(child, signal)
        }
    }
}
