// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridThreads
import TestSupport
import Testing

@testable import HybridUHID

/// The service does not accept connections, perhaps not yet.
struct NoConnection: Error {}

/// One end of a connection that keeps the borders of messages; its calls wait for at most 30 s.
final class Endpoint: Sendable {
    let descriptor: CInt

    init(_ descriptor: CInt) {
        self.descriptor = descriptor
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Connects to a service.
    convenience init(path: String) throws {
        self.init(socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0))
        let code = TestService.withAddress(path) { connect(descriptor, $0, $1) }
        // Callers may try again, so this is no issue yet, as it would be with `#require`.
        guard code == 0 else { throw NoConnection() }
    }

    /// Returns the next message; empty once the other end is closed.
    func receive() async throws -> [UInt8] {
        let message = await DedicatedThread.run { [descriptor] in
            var bytes = [UInt8](repeating: 0, count: 8192)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            if count < 0 { return errno == ECONNRESET ? [] : [UInt8]?.none }
            return Array(bytes[..<count])
        }
        return try #require(message, "no message within 30 s")
    }

    /// Sends a message; returns false if the other end is closed.
    @discardableResult
    func send(_ message: [UInt8]) -> Bool {
        Glibc.send(descriptor, message, message.count, CInt(MSG_NOSIGNAL)) == message.count
    }

    /// Sends messages on a thread of its own; returns false if there is none.
    func startSending(_ messages: [[UInt8]]) -> Bool {
        DedicatedThread.start { for message in messages { self.send(message) } }
    }

    /// Receives all messages on a thread of its own; returns false if there is none.
    func startDiscarding() -> Bool {
        DedicatedThread.start { [self] in
            var bytes = [UInt8](repeating: 0, count: 8192)
            while recv(descriptor, &bytes, bytes.count, 0) > 0 {}
        }
    }
}

/// A service with a socket in place of `/dev/uhid`, at whose other end the test is the kernel.
final class TestService: Sendable {
    let path: String
    /// The kernel's ends of the devices that were opened, oldest first.
    let devices = Locked([Endpoint]())
    /// The active user of each seat.
    let active = Locked(["seat0": getuid()])
    let lines = Locked([String]())
    let hasEnded = Locked(false)
    private let seatChange: Waker

    /// Starts a service on a thread with the given scheduling policy; `opening` is the error number of opening the
    /// device, 0 for none.
    init(
        _ folder: TestFolder,
        listed: String = "",
        hasMonitor: Bool = true,
        opening: CInt = 0,
        idleLimit: CInt = 600_000,
        scheduling: CInt = SCHED_OTHER
    ) throws {
        path = folder.path + "/socket"
        let listener = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let code = Self.withAddress(path) { bind(listener, $0, $1) }
        try #require(code == 0 && listen(listener, 16) == 0)
        let seatChange = try #require(Waker())
        self.seatChange = seatChange
        let (devices, active, lines, hasEnded) = (devices, active, lines, hasEnded)
        let seats = Seats(
            active: { seat in active.withLock { $0[seat] } },
            monitor: {
                guard hasMonitor else { return nil }
                return SeatMonitor(descriptor: seatChange.descriptor) {
                    seatChange.reset()
                } release: {
                }
            }
        )
        let server = DeviceServer(
            listener: OwnedDescriptor(listener),
            policy: PeerPolicy(listed: listed, seats: seats),
            serialNumber: "0011",
            openDevice: { () throws(DeviceFailure) in
                guard opening == 0 else { throw .notOpened(opening) }
                var pair: [CInt] = [-1, -1]
                guard socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
                    throw .notOpened(errno)
                }
                devices.withLock { $0.append(Endpoint(pair[1])) }
                return OwnedDescriptor(pair[0])
            },
            log: { line in lines.withLock { $0.append(line) } }
        )
        try #require(
            DedicatedThread.start {
                var none = sched_param()
                sched_setscheduler(0, scheduling, &none)
                server.serve(idleLimit: idleLimit)
                hasEnded.withLock { $0 = true }
            }
        )
    }

    /// Connects, and returns the client's end and the kernel's end of the created device.
    func device() async throws -> (client: Endpoint, kernel: Endpoint) {
        let count = devices.withLock(\.count)
        let client = try Endpoint(path: path)
        try await Waiting.until("a device") { devices.withLock(\.count) > count }
        let kernel = try #require(devices.withLock { $0.dropFirst(count).first })
        #expect(try await kernel.receive() == UHIDRequest.create(serialNumber: "0011").bytes)
        return (client, kernel)
    }

    /// Makes another user active on seat0, by default the one with number 0 or 1.
    func switchSession(to user: uid_t? = getuid() == 0 ? 1 : 0, isNoticed: Bool = true) {
        active.withLock { $0["seat0"] = user }
        if isNoticed { seatChange.wake() }
    }

    /// Waits for a line of the log that contains a text.
    func line(_ text: String) async throws {
        try await Waiting.until(text, evidence: lines.withLock { $0.joined(separator: "\n") }) {
            lines.withLock { $0.contains { $0.contains(text) } }
        }
    }

    static func withAddress<Result>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
