// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// A signal that asks a program to end; the raw value is the signal's number in POSIX.
package enum TerminationSignal: Int32, Sendable, CaseIterable {
    /// SIGINT: Ctrl-C at a terminal.
    case interrupt = 2
    /// SIGTERM: the default signal of kill(1) and of service managers.
    case terminate = 15
    /// SIGHUP: the terminal was closed.
    case hangup = 1
}

/// The result of a body that ran under ``withTerminationSignals(_:run:)``.
package struct SignalResult<Success: Sendable>: Sendable {
    /// The value or error of the body.
    package let result: Result<Success, any Error>
    /// The signal that canceled the body, if one did.
    package let signal: TerminationSignal?

    /// The same without the signal, if the body has a value in spite of it, because its work was done.
    package var keepingValue: Self {
        guard case .success = result else { return self }
        return SignalResult(result: result, signal: nil)
    }
}

/// Runs a body and cancels its task on the first SIGINT, SIGTERM or SIGHUP, then waits for it to end.
///
/// A second SIGINT ends the program at once with status 130, so that users can stop a body that hangs. When the body
/// has ended, the previous handlers are restored. Calls must not be nested. An ignored SIGHUP (nohup) remains ignored.
package func withTerminationSignals<Success: Sendable>(
    _ signals: [TerminationSignal] = TerminationSignal.allCases,
    run body: @escaping @Sendable () async throws -> Success
) async -> SignalResult<Success> {
    let (stream, continuation) = AsyncStream.makeStream(of: TerminationSignal.self)
    let pipe: SignalPipe
    do {
        pipe = try SignalPipe(signals.filter { $0 != .hangup || !SignalPipe.isIgnored($0) }) { continuation.yield($0) }
    } catch {
        return SignalResult(result: .failure(error), signal: nil)
    }
    defer { pipe.stop() }
    return await withTaskGroup(of: Event<Success>.self) { group in
        group.addTask {
            do {
                return .end(.success(try await body()))
            } catch {
                return .end(.failure(error))
            }
        }
        group.addTask {
            for await signal in stream { return .signal(signal) }
            return .signal(nil)
        }
        var caught: TerminationSignal?
        while let event = await group.next() {
            group.cancelAll()
            switch event {
            case .end(let result): return SignalResult(result: result, signal: caught)
            case .signal(let signal): caught = signal
            }
        }
        return SignalResult(result: .failure(CancellationError()), signal: caught)
    }
}

/// Runs a body that blocks the thread, and stops it on the first SIGINT, SIGTERM or SIGHUP.
///
/// It needs no task, so that Swift's thread pool need not start, whose supervision wakes an idle process every second.
/// Otherwise the same as ``withTerminationSignals(_:run:)``.
///
/// - Parameters:
///   - stop: Called on another thread for each signal; makes the body return.
///   - body: The work.
/// - Returns: The first signal, if one arrived.
/// - Throws: ``CommandFailure`` if the system has no descriptors left, and the errors of `body`.
package func withTerminationSignals(
    stop: @escaping @Sendable () -> Void,
    whileBlockedIn body: () throws -> Void
) throws -> TerminationSignal? {
    let caught = Locked<TerminationSignal?>(nil)
    let signals = TerminationSignal.allCases.filter { $0 != .hangup || !SignalPipe.isIgnored($0) }
    let pipe = try SignalPipe(signals) { signal in
        caught.withLock { $0 = $0 ?? signal }
        stop()
    }
    defer { pipe.stop() }
    try body()
    return caught.withLock { $0 }
}

/// Runs a body until it ends or a signal cancels it, as ``withTerminationSignals(_:run:)`` does.
///
/// - Parameters:
///   - sentence: The sentence of the failure after a signal.
///   - keepsResult: True to return the value of a body that has one in spite of the signal, because its work was done.
///   - body: The work, whose task the signal cancels.
/// - Throws: ``CommandFailure`` after a signal; otherwise the error of `body`.
package func untilSignal<Success: Sendable>(
    orThrow sentence: String = "interrupted",
    keepsResult: Bool = false,
    run body: @escaping @Sendable () async throws -> Success
) async throws -> Success {
    var ending = await withTerminationSignals(run: body)
    if keepsResult { ending = ending.keepingValue }
    if ending.signal != nil { throw CommandFailure(sentence, status: .interrupted) }
    return try ending.result.get()
}

private enum Event<Success: Sendable>: Sendable {
    case end(Result<Success, any Error>)
    case signal(TerminationSignal?)
}

/// Runs a body that receives each signal as it arrives, for services that do more on a signal than just end.
///
/// A second SIGINT ends the program at once with status 130. When the body has ended, the previous handlers are
/// restored. Calls must not be nested or combined with ``withTerminationSignals(_:run:)``.
///
/// - Throws: ``CommandFailure`` if the system has no descriptors left, and the errors of `body`.
package func withSignalStream<Success>(
    of signals: [TerminationSignal],
    run body: (AsyncStream<TerminationSignal>) async throws -> Success
) async throws -> Success {
    let (stream, continuation) = AsyncStream.makeStream(of: TerminationSignal.self)
    let pipe = try SignalPipe(signals) { continuation.yield($0) }
    defer { pipe.stop() }
    return try await body(stream)
}
