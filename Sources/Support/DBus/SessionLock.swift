// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd

/// The lock of the user's session, as the desktop reports it to logind (`LockedHint`).
package enum SessionLock {
    /// The interface of sessions.
    static let session = "org.freedesktop.login1.Session"
    /// The session of the calling process; for a service of the user, the session with the user's display.
    static let path = "\(Logind.path)/session/auto"
    /// Time for each answer in microseconds.
    private static let timeout: UInt64 = 2_000_000

    /// Returns true if the session is locked; blocks until logind has answered.
    ///
    /// Without logind or a session, and with a desktop that does not report its lock, it returns false. It uses no task,
    /// because Swift's thread pool would wake an idle agent every second from then on.
    package static func isLocked(on address: BusAddress = .system) -> Bool {
        var created: OpaquePointer?
        guard sd_bus_new(&created) >= 0, let bus = created else { return false }
        defer { sd_bus_close_unref(bus) }
        guard sd_bus_set_address(bus, address.text) >= 0, sd_bus_set_bus_client(bus, 1) >= 0,
            sd_bus_set_method_call_timeout(bus, timeout) >= 0, sd_bus_start(bus) >= 0
        else { return false }
        var isLocked: CInt = 0
        let type = CChar(UInt8(ascii: "b"))
        let result = sd_bus_get_property_trivial(
            bus,
            Logind.name,
            path,
            session,
            "LockedHint",
            nil,
            type,
            &isLocked
        )
        return result >= 0 && isLocked != 0
    }
}
