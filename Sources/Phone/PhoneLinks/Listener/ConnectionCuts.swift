// SPDX-License-Identifier: Apache-2.0

/// The connections to a relay in a row that something else than the relay has ended, such as a balancer or a proxy.
///
/// One that ends every connection after a few seconds makes the device unreachable most of the time.
struct ConnectionCuts {
    /// Number of connections after which that is reported.
    private static let maximum = 3

    private var count = 0

    /// Counts the end of a connection; returns true if it is the one to report.
    ///
    /// - Parameters:
    ///   - error: The error that ended the connection, or with which it failed.
    ///   - duration: The time since the relay accepted the proof; `nil` if it did not.
    mutating func isReported(_ error: any Error, after duration: Duration?) -> Bool {
        let isCut = duration.map { $0 < LinkListeners.connectionLifetime && ReconnectDelay.Cause.isCut(error) } ?? false
        count = isCut ? count + 1 : 0
        return count == Self.maximum
    }
}
