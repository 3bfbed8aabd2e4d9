// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// The names of logind's manager, and its signals.
package enum Logind {
    package static let name = "org.freedesktop.login1"
    package static let path = "/org/freedesktop/login1"
    package static let manager = "org.freedesktop.login1.Manager"

    /// Calls `signalled` for signals of the manager, until the bus ends the connection or the task is canceled.
    ///
    /// Only the owner of logind's name is trusted.
    ///
    /// - Parameters:
    ///   - members: The names of the signals.
    ///   - address: The address of the bus.
    ///   - signalled: Called with the connection and each signal.
    /// - Throws: `BusError`.
    package static func observe(
        _ members: [String],
        on address: BusAddress,
        _ signalled: @Sendable (BusConnection, BusMessage) async throws(BusError) -> Void
    ) async throws(BusError) {
        try await BusConnection.with(address) { connection throws(BusError) in
            let (signals, sink) = AsyncStream.makeStream(of: BusMessage.self, bufferingPolicy: .bufferingNewest(32))
            let rules = members.map {
                "type='signal',sender='\(name)',interface='\(manager)',member='\($0)',path='\(path)'"
            }
            _ = try await connection.observeOwner(of: name, rules) { event in
                switch event {
                case .signal(let message):
                    if message.path == path, members.contains(where: { message.isSignal(manager, $0) }) {
                        sink.yield(message)
                    }
                case .disconnected: sink.finish()
                }
            }
            for await signal in signals { try await signalled(connection, signal) }
        }
    }

    /// Waits until the user's session is locked or the computer suspends.
    ///
    /// - Returns: False if the bus has ended the connection or the task was canceled before.
    /// - Throws: `BusError`.
    package static func untilLockedOrSuspended(on address: BusAddress = .system) async throws(BusError) -> Bool {
        try await BusConnection.with(address) { connection throws(BusError) in
            let (signals, sink) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(32))
            let suspends =
                "type='signal',sender='\(name)',interface='\(manager)',member='PrepareForSleep',path='\(path)'"
            let changes =
                "type='signal',sender='\(name)',interface='\(BusNames.properties)',member='PropertiesChanged',"
                + "path_namespace='\(path)/session'"
            _ = try await connection.observeOwner(of: name, [suspends, changes]) { event in
                switch event {
                case .signal(let message): sink.yield(message.isSignal(manager, "PrepareForSleep"))
                case .disconnected: sink.finish()
                }
            }
            var iterator = signals.makeAsyncIterator()
            // It may have been locked before the subscription.
            while await !DedicatedThread.run({ SessionLock.isLocked(on: address) }) {
                guard let isSuspend = await iterator.next() else { return false }
                if isSuspend { return true }
            }
            return true
        }
    }
}
