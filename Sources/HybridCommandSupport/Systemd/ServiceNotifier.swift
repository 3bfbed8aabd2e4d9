// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Tells the service manager how the program is doing, by the protocol of sd_notify(3).
///
/// Without `NOTIFY_SOCKET` in the environment nobody wants to know, and everything here does nothing. No call waits
/// or fails: each returns whether the manager's socket took the message, which few callers care about.
public final class ServiceNotifier: Sendable {
    /// The manager's socket as the system takes it: family and path.
    private let address: [UInt8]
    /// Opened at once and kept, so that the watchdog is fed even when no descriptors are left; -1 if nobody listens.
    private let descriptor: Int32

    /// How often to call ``watchdog()``, which is half of the time that the manager waits; `nil` if it does not.
    public let watchdogInterval: Duration?

    /// A notifier for the manager that the environment of this process names.
    public convenience init() {
        self.init(environment: ProcessEnvironment.variables, processID: getpid())
    }

    /// A notifier for the manager that an environment names to a process.
    public init(environment: [String: String], processID: Int32) {
        address = Self.socketAddress(environment["NOTIFY_SOCKET"] ?? "")
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = address.isEmpty ? -1 : socket(AF_UNIX, kind, 0)
        watchdogInterval = Self.watchdogInterval(environment, processID: processID)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// The program serves.
    @discardableResult
    public func ready(status: String? = nil) -> Bool { send(["READY=1"], status) }

    /// The program is about to end.
    @discardableResult
    public func stopping(status: String? = nil) -> Bool { send(["STOPPING=1"], status) }

    /// The program reads its configuration again; ``ready(status:)`` must follow.
    @discardableResult
    public func reloading(status: String? = nil) -> Bool {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return send(["RELOADING=1", "MONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1000)"], status)
    }

    /// What the program is doing, in a line that `systemctl status` shows.
    @discardableResult
    public func status(_ text: String) -> Bool { send([], text) }

    /// The program is alive.
    @discardableResult
    public func watchdog() -> Bool { send(["WATCHDOG=1"], nil) }

    /// Starting or ending takes this much longer, counted from now.
    @discardableResult
    public func extendTimeout(by duration: Duration) -> Bool {
        // Thirty years are for ever, and are a number that nothing overflows with.
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

    /// The bytes of `sockaddr_un`; none for a name that is neither a path nor abstract, or is too long.
    private static func socketAddress(_ name: String) -> [UInt8] {
        let path = Array(name.utf8)
        // The path's field has 108 bytes, one of them for the end of a path that is not abstract.
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
