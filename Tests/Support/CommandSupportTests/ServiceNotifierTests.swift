// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing

@testable import HybridCommandSupport

@Suite("Notifications to the service manager")
struct ServiceNotifierTests {
    /// The socket of a service manager.
    private final class Manager: Sendable {
        let descriptor: Int32

        /// Creates a socket; as in the variable, `@` marks an abstract name.
        init(_ name: String) throws {
            let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            descriptor = socket(AF_UNIX, kind, 0)
            var address = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) }
            address += name.hasPrefix("@") ? [0] + name.utf8.dropFirst() : Array(name.utf8) + [0]
            let bound = address.withUnsafeBytes { bytes in
                bytes.baseAddress.map {
                    bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
                }
            }
            try #require(bound == 0)
        }

        deinit { close(descriptor) }

        /// Returns the next datagram, or `nil` if there is none.
        func receive() -> String? {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    private func notifier(_ socket: String?) -> ServiceNotifier {
        ServiceNotifier(environment: socket.map { ["NOTIFY_SOCKET": $0] } ?? [:], processID: getpid())
    }

    @Test("each message reaches the socket in the form of the protocol", arguments: [false, true])
    func messages(abstract: Bool) throws {
        let directory = try TemporaryDirectory()
        let name = abstract ? "@" + directory.path : directory.path + "/notify"
        let manager = try Manager(name)
        let notifier = notifier(name)
        #expect(notifier.ready())
        #expect(manager.receive() == "READY=1")
        #expect(notifier.ready(status: "serving\nMAINPID=1"))
        #expect(manager.receive() == "READY=1\nSTATUS=serving?MAINPID=1")
        #expect(notifier.watchdog())
        #expect(manager.receive() == "WATCHDOG=1")
        #expect(notifier.extendTimeout(by: .milliseconds(1500)))
        #expect(manager.receive() == "EXTEND_TIMEOUT_USEC=1500000")
        #expect(notifier.extendTimeout(by: .seconds(-1)))
        #expect(manager.receive() == "EXTEND_TIMEOUT_USEC=0")
        #expect(notifier.extendTimeout(by: .seconds(Int64.max)))
        #expect(manager.receive() == "EXTEND_TIMEOUT_USEC=1000000000000000")
        #expect(notifier.stopping(status: "draining"))
        #expect(manager.receive() == "STOPPING=1\nSTATUS=draining")
        #expect(manager.receive() == nil)
    }

    @Test("reloading states the monotonic clock in microseconds")
    func reloading() throws {
        let directory = try TemporaryDirectory()
        let manager = try Manager(directory.path + "/notify")
        func now() -> Int {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
        }
        let before = now()
        #expect(notifier(directory.path + "/notify").reloading())
        let after = now()
        let lines = try #require(manager.receive()).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first == "RELOADING=1")
        let time = try #require(lines.last?.split(separator: "=").last.flatMap { Int($0) })
        #expect(lines.last?.hasPrefix("MONOTONIC_USEC=") == true)
        #expect((before...after).contains(time))
    }

    @Test(
        "without a usable socket, nothing happens",
        arguments: [
            nil, "", "/", "@", "relative", "vsock:2:1", "/nobody/listens/here", "/a\0b",
            "@\(String(repeating: "x", count: 107))",
        ]
    )
    func noManager(socket: String?) {
        let notifier = notifier(socket)
        #expect(!notifier.ready())
    }

    @Test("a manager that does not read never blocks the program")
    func fullQueue() throws {
        let directory = try TemporaryDirectory()
        let manager = try Manager(directory.path + "/notify")
        let notifier = notifier(directory.path + "/notify")
        // Far more than the socket's queue holds.
        let taken = (0..<10_000).count { _ in notifier.watchdog() }
        #expect((1..<10_000).contains(taken))
        #expect(manager.receive() == "WATCHDOG=1")
        #expect(notifier.watchdog())
    }

    @Test("a manager that restarts with the same path is found")
    func managerRestarts() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/notify"
        var manager = try Manager(path)
        let notifier = notifier(path)
        #expect(notifier.ready())
        #expect(manager.receive() == "READY=1")
        unlink(path)
        manager = try Manager(path)
        #expect(notifier.watchdog())
        #expect(manager.receive() == "WATCHDOG=1")
    }

    @Test(
        "the interval is half of the watchdog's timeout, if it is for this process",
        arguments: [
            (["WATCHDOG_USEC": "30000000"], .seconds(15)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"], .seconds(15)),
            (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"], nil),
            (["WATCHDOG_USEC": "1", "WATCHDOG_PID": "x"], nil),
            (["WATCHDOG_USEC": "3"], .nanoseconds(1500)), (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "-5"], nil),
            (["WATCHDOG_USEC": "soon"], nil), ([:], nil), (["WATCHDOG_PID": "7"], nil),
        ] as [([String: String], Duration?)]
    )
    func watchdog(environment: [String: String], expected: Duration?) {
        #expect(ServiceNotifier(environment: environment, processID: 7).watchdogInterval == expected)
    }
}
