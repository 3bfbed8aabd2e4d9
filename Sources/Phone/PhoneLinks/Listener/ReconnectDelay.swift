// SPDX-License-Identifier: Apache-2.0

internal import HybridDataChannel

/// The delays between attempts to reach a relay: random, so that many phones do not return at the same moment.
///
/// The upper limit is 5 s if the last connection ended in order or the device resumed, and 40 s otherwise. It doubles
/// with each attempt, up to 320 s, and starts again after a connection that lasted.
struct ReconnectDelay: Sendable {
    /// The reason for a reconnection.
    enum Cause: Sendable {
        /// The relay is shutting down or moves its listeners (close code 1012), the device resumed, or a connection that
        /// lasted was closed, as balancers do after a fixed time.
        case requested
        /// Any other end of a connection, or a failure to connect.
        case failure

        /// Creates the cause that corresponds to the error of a connection.
        ///
        /// - Parameters:
        ///   - error: The error that ended the connection, or with which it failed.
        ///   - duration: The time since the relay accepted the proof; `nil` if it did not.
        init(_ error: any Error, after duration: Duration?) {
            let lasted = duration.map { $0 >= ReconnectDelay.stableDuration } ?? false
            let isRequested = (error as? TunnelError)?.closeCode == Self.relayEnds
            self = isRequested || (lasted && Self.isCut(error)) ? .requested : .failure
        }

        /// The close code with which a relay asks for a new connection.
        private static let relayEnds: UInt16 = 1012

        /// Returns true if the connection was closed, and the relay has not asked for a new one.
        static func isCut(_ error: any Error) -> Bool {
            guard let error = error as? TunnelError else { return false }
            return error.closeCode.map { $0 != relayEnds } ?? (error == .connectionLost)
        }

        fileprivate var limit: Int { self == .requested ? 5 : 40 }
    }

    /// The minimum duration of a connection after which the delays start again.
    ///
    /// It is shorter than the time after which common balancers end a connection (30 s).
    static let stableDuration = Duration.seconds(10)
    /// Maximum delay in seconds.
    static let maximum = 320

    private var failures = 0

    /// Returns the next delay, at least 1 s.
    mutating func next(_ cause: Cause, using generator: inout some RandomNumberGenerator) -> Duration {
        let limit = min(cause.limit << min(failures, 8), Self.maximum)
        failures += 1
        return .milliseconds(Int.random(in: 1000...limit * 1000, using: &generator))
    }

    /// Starts again with the lowest limit, after a connection that lasted.
    mutating func reset() { failures = 0 }
}

/// Waits for a duration, or until `event` returns.
func pause(_ duration: Duration, unless event: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        group.addTask { try? await Task.sleep(for: duration) }
        group.addTask { await event() }
        await group.next()
        group.cancelAll()
    }
}
