// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A prompt that a signal has ended, which is an interruption of this program, too.
///
/// Ctrl-C goes to all programs of the terminal, and the prompt may be gone before our own signal has been dealt with.
enum PromptInterruption {
    /// Returns when the task is cancelled, as after Ctrl-C; a signal that went to the prompt alone is passed on for that.
    static func takesPlace() async {
        // Both end as soon as the task is cancelled. A second SIGINT would end us at once, so ours goes first.
        try? await Task.sleep(for: .seconds(1))
        guard !Task.isCancelled else { return }
        kill(getpid(), SIGINT)
        try? await Task.sleep(for: .seconds(5))
    }
}
