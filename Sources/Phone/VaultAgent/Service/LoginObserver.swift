// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridDBus
internal import HybridPrimitives

/// Notifications of logind about suspends and about the end of the user's last session.
enum LoginObserver {
    static let name = "org.freedesktop.login1"
    static let path = "/org/freedesktop/login1"
    static let manager = "org.freedesktop.login1.Manager"
    static let user = "org.freedesktop.login1.User"

    /// A change that logind reports.
    enum Event: Sendable {
        /// A suspend begins or has ended.
        case suspend
        /// This user has no session any more.
        case loggedOut
    }

    /// Calls `changed` after each event, until the bus ends the connection or the task is canceled.
    ///
    /// Only the owner of logind's name is trusted.
    ///
    /// - Throws: `BusError`.
    static func observe(
        on address: BusAddress,
        _ changed: @Sendable (Event) -> Void
    ) async throws(BusError) {
        let connection = try await BusConnection.connect(to: address)
        try await withCleanup {
            await connection.close()
        } of: { () throws(BusError) in
            try await observe(over: connection, changed)
        }
    }

    private static func observe(
        over connection: BusConnection,
        _ changed: @Sendable (Event) -> Void
    ) async throws(BusError) {
        let (signals, continuation) = AsyncStream.makeStream(of: BusMessage.self, bufferingPolicy: .bufferingNewest(32))
        let members = ["PrepareForSleep", "SessionRemoved"]
        let rules = members.map {
            "type='signal',sender='\(name)',interface='\(manager)',member='\($0)',path='\(path)'"
        }
        _ = try await connection.observe(rules) { event in
            switch event {
            case .signal(let message):
                if message.path == path, members.contains(where: { message.isSignal(manager, $0) }) {
                    continuation.yield(message)
                }
            case .disconnected: continuation.finish()
            }
        }
        for await message in signals where try await connection.owner(of: name) == message.sender {
            if message.member == "PrepareForSleep" {
                changed(.suspend)
            } else if try await hasNoSession(over: connection, message.sender) {
                changed(.loggedOut)
            }
        }
    }

    /// Returns true if logind reports a user without sessions; a user manager may linger.
    private static func hasNoSession(over connection: BusConnection, _ logind: String) async throws(BusError) -> Bool {
        do throws(BusError) {
            let reply = try await connection.call(logind, path, manager, "GetUser", [.uint32(geteuid())])
            guard let object = reply.first?.text else { return false }
            let arguments = [BusValue.string(user), .string("State")]
            let state = try await connection.call(logind, object, BusNames.properties, "Get", arguments)
            return ["lingering", "closing", "offline"].contains(state.first?.text)
        } catch {
            // logind has forgotten the user.
            guard error.name != nil else { throw error }
            return true
        }
    }
}
