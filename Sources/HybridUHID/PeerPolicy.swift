// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd
internal import Glibc

/// The rule about the users that may have a device: the one who is active on seat0, or those whom the administrator has
/// listed, while no other user is active there.
///
/// Otherwise the person at seat0 could use a listed user's key: udev gives them access to the device.
package struct PeerPolicy: Sendable {
    /// The seat whose active user gets access to hidraw devices that belong to no other seat, such as this one.
    private static let seat = "seat0"

    private let listed: Set<uid_t>
    private let seats: Seats

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - listed: Names or numbers of users, separated by spaces or commas. Names that do not exist are ignored.
    ///   - seats: The seats of this computer.
    package init(listed: String, seats: Seats = .logind) {
        let words = listed.split { $0 == " " || $0 == "," }
        self.listed = Set(words.compactMap { uid_t($0) ?? getpwnam(String($0))?.pointee.pw_uid })
        self.seats = seats
    }

    /// Returns true if a user may have a device now.
    func admits(_ user: uid_t) -> Bool {
        let active = seats.active(Self.seat)
        return active == user || (active == nil && listed.contains(user))
    }

    /// Returns a new monitor of the seats; `nil` if there is no logind.
    func monitor() -> SeatMonitor? { seats.monitor() }
}

/// The seats of this computer, as closures so that tests can provide others.
package struct Seats: Sendable {
    /// Returns the user of the active session of a seat; `nil` if there is none.
    let active: @Sendable (_ seat: String) -> uid_t?
    /// Returns a new monitor, for one thread.
    let monitor: @Sendable () -> SeatMonitor?

    /// The seats that logind manages.
    package static let logind = Seats(
        active: { seat in
            var user: uid_t = 0
            return sd_seat_get_active(seat, nil, &user) >= 0 ? user : nil
        },
        monitor: {
            var monitor: OpaquePointer?
            guard sd_login_monitor_new("seat", &monitor) >= 0, let monitor else { return nil }
            return SeatMonitor(descriptor: sd_login_monitor_get_fd(monitor)) {
                sd_login_monitor_flush(monitor)
            } release: {
                sd_login_monitor_unref(monitor)
            }
        }
    )
}

/// A descriptor that becomes readable when the active session of a seat changes.
final class SeatMonitor {
    let descriptor: CInt
    /// Makes the descriptor unreadable until the next change.
    let reset: () -> Void
    private let release: () -> Void

    init(descriptor: CInt, reset: @escaping () -> Void, release: @escaping () -> Void) {
        (self.descriptor, self.reset, self.release) = (descriptor, reset, release)
    }

    deinit { release() }
}
