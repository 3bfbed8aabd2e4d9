// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Runs a body that gets each signal as it comes, for services that answer signals in other ways than by ending.
///
/// A second SIGINT ends the program at once with status 130. Once the body has ended, the signals mean what they meant
/// before. Not to be nested, nor with ``withTerminationSignals(_:run:)``.
///
/// - Throws: ``CommandFailure`` where the system has no descriptors left, and what `body` throws.
public func withSignalStream<Success>(
    of signals: [TerminationSignal],
    run body: (AsyncStream<TerminationSignal>) async throws -> Success
) async throws -> Success {
    guard let pipe = SignalPipe(signals) else {
        throw CommandFailure("no file descriptors left", status: .unavailable)
    }
    defer { pipe.stop() }
    return try await body(pipe.stream)
}
