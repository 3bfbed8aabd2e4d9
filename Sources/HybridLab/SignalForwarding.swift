// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Hands SIGINT, SIGTERM and SIGHUP on to the command, so that it is the one to decide how to end.
///
/// What the terminal sends reaches the command by itself, being in the same process group, and is not sent twice.
enum SignalForwarding {
    private struct State {
        var child: pid_t = 0
        var waiting: CInt = 0
    }

    // Written before a handler is installed or by aligned single words only, which is all a signal handler may rely
    // on; never freed, because a handler may run until the process ends.
    private nonisolated(unsafe) static let state: UnsafeMutablePointer<State> = {
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        state.initialize(to: State())
        return state
    }()

    /// Starts to catch the signals; those that come before there is a child wait for it.
    static func install() {
        _ = state
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            var old = sigaction()
            sigaction(signal, nil, &old)
            // What was ignored (nohup) stays ignored, here and in the command.
            if old.__sigaction_handler.sa_handler.map({ unsafeBitCast($0, to: Int.self) }) == 1 { continue }
            var action = sigaction()
            action.sa_flags = SA_SIGINFO | SA_RESTART
            action.__sigaction_handler.sa_sigaction = { signal, info, _ in
                SignalForwarding.take(signal, fromTerminal: (info?.pointee.si_code ?? 0) > 0)
            }
            sigaction(signal, &action, nil)
        }
    }

    /// Names the child, and sends it what has come before.
    static func pass(to child: Int32) {
        state.pointee.child = child
        if state.pointee.waiting != 0 { kill(child, state.pointee.waiting) }
    }

    /// The child is gone; its ID may be given to another process.
    static func stop() {
        state.pointee.child = 0
    }

    private static func take(_ signal: CInt, fromTerminal: Bool) {
        // A positive si_code is the kernel's: the terminal's own.
        let child = state.pointee.child
        if child == 0 {
            state.pointee.waiting = signal
        } else if !fromTerminal {
            kill(child, signal)
        }
    }
}
