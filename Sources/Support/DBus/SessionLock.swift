// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd

/// The lock of the user's session, as the desktop reports it to logind (`LockedHint`).
package enum SessionLock {
    /// The interface of sessions.
    static let session = "org.freedesktop.login1.Session"
    /// The session of the calling process; for a service of the user, the session with the user's display.
    static let path = "\(Logind.path)/session/auto"

    /// Returns true if the session is locked; blocks until logind has answered, at most for `limit`.
    ///
    /// Without logind or a session, with a bus that does not answer, and with a desktop that does not report its lock, it
    /// returns false. It uses no task, because Swift's thread pool would wake an idle agent every second from then on.
    package static func isLocked(on address: BusAddress = .system, limit: Duration = .seconds(2)) -> Bool {
        let deadline = BusClock.deadline(after: limit)
        var created: OpaquePointer?
        guard sd_bus_new(&created) >= 0, let bus = created else { return false }
        defer { sd_bus_close_unref(bus) }
        guard sd_bus_set_address(bus, address.text) >= 0, sd_bus_set_bus_client(bus, 1) >= 0,
            sd_bus_start(bus) >= 0, isReady(bus, before: deadline),
            // 0 would be libsystemd's own limit.
            sd_bus_set_method_call_timeout(bus, max(1, BusClock.remaining(until: deadline))) >= 0
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

    /// Waits until the bus has accepted the connection; returns false if that fails or takes too long.
    ///
    /// libsystemd would wait 90 s, whatever the time for an answer is.
    private static func isReady(_ bus: OpaquePointer, before deadline: UInt64) -> Bool {
        while sd_bus_is_ready(bus) <= 0 {
            let progress = sd_bus_process(bus, nil)
            if progress > 0 { continue }
            let rest = BusClock.remaining(until: deadline)
            guard progress == 0, rest > 0, sd_bus_wait(bus, rest) >= 0 else { return false }
        }
        return true
    }
}
