// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// How a body ended that ran under ``withTerminationSignals(_:run:)``.
public struct SignalledResult<Success: Sendable>: Sendable {
    /// What the body returned or threw.
    public let result: Result<Success, any Error>
    /// The signal that cancelled it, if one did.
    public let signal: TerminationSignal?
}

/// Runs a body and cancels its task on the first SIGINT, SIGTERM or SIGHUP, then waits for it to end.
///
/// A second SIGINT ends the program at once with status 130, so a body that hangs can be left. Once the body has
/// ended, the signals mean what they meant before. Not to be nested.
public func withTerminationSignals<Success: Sendable>(
    _ signals: [TerminationSignal] = TerminationSignal.allCases,
    run body: @escaping @Sendable () async throws -> Success
) async -> SignalledResult<Success> {
    guard let pipe = SignalPipe(signals) else {
        let failure = CommandFailure("no file descriptors left", status: .unavailable)
        return SignalledResult(result: .failure(failure), signal: nil)
    }
    defer { pipe.stop() }
    let stream = pipe.stream
    return await withTaskGroup(of: Ending<Success>.self) { group in
        group.addTask {
            do {
                return .body(.success(try await body()))
            } catch {
                return .body(.failure(error))
            }
        }
        group.addTask {
            for await signal in stream { return .signal(signal) }
            return .signal(nil)
        }
        var caught: TerminationSignal?
        while let ending = await group.next() {
            group.cancelAll()
            switch ending {
            case .body(let result): return SignalledResult(result: result, signal: caught)
            case .signal(let signal): caught = signal
            }
        }
        return SignalledResult(result: .failure(CancellationError()), signal: caught)
    }
}

private enum Ending<Success: Sendable>: Sendable {
    case body(Result<Success, any Error>)
    case signal(TerminationSignal?)
}
