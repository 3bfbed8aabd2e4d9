// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridProgram

/// Notifications to the service manager with the protocol of sd_notify(3).
///
/// Without `NOTIFY_SOCKET` in the environment, all calls do nothing. No call blocks or throws; each returns true if the
/// manager's socket accepted the message.
package final class ServiceNotifier: Sendable {
    /// The address of the manager's socket: family and path.
    private let address: [UInt8]
    /// The descriptor of the notifier's own socket; -1 without a manager.
    ///
    /// It is opened early and kept, so that the watchdog is served even when no descriptors are left.
    private let descriptor: Int32

    /// The interval for ``watchdog()``, half of the manager's timeout; `nil` without a watchdog.
    package let watchdogInterval: Duration?

    /// Creates a notifier for the manager that this process's environment names.
    package convenience init() {
        self.init(environment: ProcessEnvironment.variables, processID: getpid())
    }

    /// Creates a notifier for the manager that an environment names; the watchdog applies only to the given process.
    package init(environment: [String: String], processID: Int32) {
        address = Self.socketAddress(environment["NOTIFY_SOCKET"] ?? "")
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = address.isEmpty ? -1 : socket(AF_UNIX, kind, 0)
        watchdogInterval = Self.watchdogInterval(environment, processID: processID)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Reports that the program has started.
    package func ready(status: String? = nil) -> Bool { send(["READY=1"], status) }

    /// Reports a sentence that `systemctl status` shows.
    package func status(_ sentence: String) -> Bool { send([], sentence) }

    /// Reports that the program is about to end.
    package func stopping(status: String? = nil) -> Bool { send(["STOPPING=1"], status) }

    /// Reports that the program is reloading its configuration; ``ready(status:)`` must follow.
    package func reloading(status: String? = nil) -> Bool {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return send(["RELOADING=1", "MONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1000)"], status)
    }

    /// Reports that the program is alive.
    package func watchdog() -> Bool { send(["WATCHDOG=1"], nil) }

    /// Requests more time for starting or stopping, counted from now.
    package func extendTimeout(by duration: Duration) -> Bool {
        // At most thirty years, so that nothing overflows.
        let (seconds, attoseconds) = min(max(duration, .zero), .seconds(1_000_000_000)).components
        return send(["EXTEND_TIMEOUT_USEC=\(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)"], nil)
    }

    private func send(_ lines: [String], _ status: String?) -> Bool {
        guard descriptor >= 0 else { return false }
        let lines = lines + (status.map { ["STATUS=" + StandardError.oneLine($0)] } ?? [])
        let message = Array(lines.joined(separator: "\n").utf8)
        return address.withUnsafeBytes { address in
            guard let base = address.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            let flags = Int32(MSG_NOSIGNAL | MSG_DONTWAIT)
            while true {
                let sent = sendto(descriptor, message, message.count, flags, base, socklen_t(address.count))
                if sent < 0, errno == EINTR { continue }
                return sent == message.count
            }
        }
    }

    /// Returns the bytes of `sockaddr_un`; none for a name that is neither a path nor abstract, or is too long.
    private static func socketAddress(_ name: String) -> [UInt8] {
        let path = Array(name.utf8)
        // The field for the path has 108 bytes, one of them for the final NUL of a path that is not abstract.
        guard path.count > 1, path.count < 108, !path.contains(0) else { return [] }
        let family = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) }
        switch path[0] {
        case UInt8(ascii: "/"): return family + path + [0]
        case UInt8(ascii: "@"): return family + [0] + path.dropFirst()
        default: return []
        }
    }

    private static func watchdogInterval(_ environment: [String: String], processID: Int32) -> Duration? {
        if let process = environment["WATCHDOG_PID"], Int32(process) != processID { return nil }
        guard let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init), microseconds > 0 else { return nil }
        return .microseconds(microseconds) / 2
    }
}
