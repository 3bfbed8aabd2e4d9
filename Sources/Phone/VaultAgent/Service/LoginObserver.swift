// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridDBus

/// Notifications of logind about suspends and about the end of the user's last session.
enum LoginObserver {
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
    /// - Throws: `BusError`.
    static func observe(
        on address: BusAddress,
        _ changed: @Sendable (Event) -> Void
    ) async throws(BusError) {
        try await Logind.observe(["PrepareForSleep", "SessionRemoved"], on: address) {
            connection,
            signal throws(BusError) in
            if signal.member == "PrepareForSleep" {
                changed(.suspend)
            } else if try await hasNoSession(over: connection, signal.sender) {
                changed(.loggedOut)
            }
        }
    }

    /// Returns true if logind reports a user without sessions; a user manager may linger.
    private static func hasNoSession(over connection: BusConnection, _ logind: String) async throws(BusError) -> Bool {
        do throws(BusError) {
            let reply = try await connection.call(logind, Logind.path, Logind.manager, "GetUser", [.uint32(geteuid())])
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
