// SPDX-License-Identifier: Apache-2.0

internal import Glibc
private import Synchronization

/// Forwarding of SIGINT, SIGTERM and SIGHUP to the command, which decides how it ends.
///
/// The command is in the same process group. It receives signals of the terminal directly, so these are not forwarded.
enum SignalForwarding {
    /// The child's process ID; 0 before it starts, or the negative number of a signal that was received before.
    ///
    /// Child and signal share one word, so that none is lost between them. A signal handler may use an atomic value
    /// that is initialized before the handler is installed.
    private static let state = Atomic<CInt>(0)

    /// Installs the handlers.
    ///
    /// The last signal that is received before `start(to:)` is stored for the child.
    static func install() {
        stop()
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
        let pending = -state.exchange(child, ordering: .sequentiallyConsistent)
        if pending > 0 { kill(child, pending) }
    }

    /// Stops forwarding after the child has exited, because its process ID may be reused.
    static func stop() { state.store(0, ordering: .sequentiallyConsistent) }

    private static func handle(_ signal: CInt, fromTerminal: Bool) {
        var seen = state.load(ordering: .sequentiallyConsistent)
        while seen <= 0 {
            let (exchanged, original) = state.compareExchange(
                expected: seen,
                desired: -signal,
                ordering: .sequentiallyConsistent
            )
            if exchanged { return }
            seen = original
        }
        // A positive `si_code` means that the kernel has sent the signal on behalf of the terminal.
        if !fromTerminal { kill(seen, signal) }
    }
}
