// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Handling of a signal that ended a prompt and must also end this program.
///
/// Ctrl-C reaches all programs of the terminal. The prompt may exit before this process handles its own signal.
enum PromptInterruption {
    /// Waits until the task is canceled, as after Ctrl-C.
    ///
    /// If the signal reached only the prompt, sends SIGINT to this process.
    ///
    /// - Returns: The error to throw.
    static func propagate() async -> CancellationError {
        // A second SIGINT would end this program at once, so the terminal's signal gets time to arrive first.
        // Cancellation ends both waits.
        try? await Task.sleep(for: .seconds(1))
        if !Task.isCancelled {
            kill(getpid(), SIGINT)
            try? await Task.sleep(for: .seconds(5))
        }
        return CancellationError()
    }
}
