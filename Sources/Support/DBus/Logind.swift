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
            var rules = members.map {
                "type='signal',sender='\(name)',interface='\(manager)',member='\($0)',path='\(path)'"
            }
            rules.append(
                "type='signal',sender='\(BusNames.daemon)',interface='\(BusNames.daemon)',member='NameOwnerChanged',"
                    + "arg0='\(name)'"
            )
            // Compared before the buffer: any program can send signals to this connection, and would push logind's out.
            let owner = Locked(try await connection.owner(of: name))
            _ = try await connection.observe(rules) { event in
                switch event {
                case .signal(let message):
                    if let new = newOwner(message) {
                        owner.withLock { $0 = new }
                    } else if message.path == path, members.contains(where: { message.isSignal(manager, $0) }),
                        message.sender == owner.withLock({ $0 })
                    {
                        sink.yield(message)
                    }
                case .disconnected: sink.finish()
                }
            }
            // It may have changed before the subscription.
            let current = try await connection.owner(of: name)
            owner.withLock { $0 = current }
            for await signal in signals { try await signalled(connection, signal) }
        }
    }

    /// Returns the owner of logind's name after a change, as the bus daemon reports it; `nil` for any other signal.
    private static func newOwner(_ message: BusMessage) -> String? {
        guard message.sender == BusNames.daemon, message.isSignal(BusNames.daemon, "NameOwnerChanged"),
            message.body.count == 3, message.body[0].text == name
        else { return nil }
        return message.body[2].text
    }
}
