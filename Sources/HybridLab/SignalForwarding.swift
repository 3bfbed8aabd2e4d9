// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Forwards SIGINT, SIGTERM and SIGHUP to the command, which decides how to end.
///
/// The command is in the same process group. A signal from the terminal reaches it directly and is not forwarded.
enum SignalForwarding {
    private struct State {
        var child: pid_t = 0
        var pending: CInt = 0
    }

    // SAFETY: Written before a handler is installed, or in aligned single words, which is all that a signal handler may
    // rely on. Never freed, because a handler may run until the process exits.
    private nonisolated(unsafe) static let state: UnsafeMutablePointer<State> = {
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        state.initialize(to: State())
        return state
    }()

    /// Installs the handlers.
    ///
    /// Signals that arrive before `start(to:)` are kept for the child.
    static func install() {
        _ = state
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            var old = sigaction()
            sigaction(signal, nil, &old)
            // Ignored signals (nohup) stay ignored, here and in the command.
            if old.__sigaction_handler.sa_handler.map({ unsafeBitCast($0, to: Int.self) }) == 1 { continue }
            var action = sigaction()
            action.sa_flags = SA_SIGINFO | SA_RESTART
            action.__sigaction_handler.sa_sigaction = { signal, info, _ in
                SignalForwarding.handle(signal, fromTerminal: (info?.pointee.si_code ?? 0) > 0)
            }
            sigaction(signal, &action, nil)
        }
    }

    /// Sets the child, and sends it a signal that has arrived before.
    static func start(to child: pid_t) {
        state.pointee.child = child
        if state.pointee.pending != 0 { kill(child, state.pointee.pending) }
    }

    /// Stops forwarding after the child's end, because its ID may be reused.
    static func stop() {
        state.pointee.child = 0
    }

    private static func handle(_ signal: CInt, fromTerminal: Bool) {
        // A positive si_code means that the kernel has sent the signal, on behalf of the terminal.
        let child = state.pointee.child
        if child == 0 {
            state.pointee.pending = signal
        } else if !fromTerminal {
            kill(child, signal)
        }
    }
}
