// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridThreads

/// The lock of the user's session, as the desktop reports it to logind (`LockedHint`).
package enum SessionLock {
    /// The interface of sessions.
    static let session = "org.freedesktop.login1.Session"
    /// The session of the calling process; for a service of the user, the session with the user's display.
    static let path = "\(Logind.path)/session/auto"
    /// Time for the bus and for logind to answer.
    private static let timeout = Duration.seconds(2)

    /// Returns true if the session is locked; blocks until logind has answered.
    ///
    /// Without logind or a session, and with a desktop that does not report its lock, it returns false.
    package static func isLocked(on address: BusAddress = .system) -> Bool {
        guard let waker = Waker() else { return false }
        let answer = Locked(false)
        Task {
            let isLocked = await query(address)
            answer.withLock { $0 = isLocked }
            waker.wake()
        }
        var polled = pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&polled, 1, CInt(timeout * 2 / .milliseconds(1))) < 0, errno == EINTR {}
        return answer.withLock { $0 }
    }

    private static func query(_ address: BusAddress) async -> Bool {
        do throws(BusError) {
            let connection = try await BusConnection.connect(to: address, timeout: timeout)
            let isLocked = await isLocked(over: connection)
            await connection.close()
            return isLocked
        } catch {
            return false
        }
    }

    private static func isLocked(over connection: BusConnection) async -> Bool {
        do throws(BusError) {
            let arguments = [BusValue.string(session), .string("LockedHint")]
            let reply = try await connection.call(
                Logind.name,
                path,
                BusNames.properties,
                "Get",
                arguments,
                timeout: timeout
            )
            return reply.first?.flag ?? false
        } catch {
            return false
        }
    }
}
