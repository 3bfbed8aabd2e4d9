// SPDX-License-Identifier: Apache-2.0

package import HybridDBus
internal import HybridPrimitives

/// Notifications of logind that the computer has resumed from suspend.
///
/// While it was suspended, the relay may have closed the connections without notice.
package enum ResumeObserver {
    static let name = "org.freedesktop.login1"
    static let path = "/org/freedesktop/login1"
    static let interface = "org.freedesktop.login1.Manager"
    static let member = "PrepareForSleep"

    /// Calls `resumed` after each resume, until the bus ends the connection or the task is canceled.
    ///
    /// Only the owner of logind's name is trusted.
    ///
    /// - Throws: `BusError`.
    package static func observe(
        on address: BusAddress = .system,
        _ resumed: @Sendable () -> Void
    ) async throws(BusError) {
        let connection = try await BusConnection.connect(to: address)
        try await withCleanup {
            await connection.close()
        } of: { () throws(BusError) in
            try await observe(over: connection, resumed)
        }
    }

    private static func observe(
        over connection: BusConnection,
        _ resumed: @Sendable () -> Void
    ) async throws(BusError) {
        let (signals, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(8))
        let rule = "type='signal',sender='\(name)',interface='\(interface)',member='\(member)',path='\(path)'"
        _ = try await connection.observe([rule]) { event in
            switch event {
            case .signal(let message):
                // False: the suspend is over.
                if message.isSignal(interface, member), message.path == path, message.body.first?.flag == false {
                    continuation.yield(message.sender)
                }
            case .disconnected: continuation.finish()
            }
        }
        for await sender in signals where try await connection.owner(of: name) == sender { resumed() }
    }
}
