// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A descriptor that is closed with its last reference.
package final class OwnedDescriptor: Sendable {
    let number: CInt

    /// Takes an open descriptor.
    package init(_ number: CInt) { self.number = number }

    deinit { close(number) }

    /// Sends a request to the kernel with one write(2).
    func write(_ request: UHIDRequest) throws(DeviceFailure) {
        guard Glibc.write(number, request.bytes, request.bytes.count) == request.bytes.count else {
            throw .deviceFailed(errno)
        }
    }
}

/// A device and the connection of its client, which exist as long as each other.
///
/// It runs on one thread. Another one, ``EventReader``, only reads events, with the priority of the service.
final class DeviceConnection {
    private let client: OwnedDescriptor
    private let device: OwnedDescriptor
    private let user: uid_t
    private let policy: PeerPolicy
    private let monitor: SeatMonitor?
    private let reader: EventReader
    private var limit = InputLimit()
    /// True if the client's socket has no room for the next report.
    private var isBlocked = false

    /// Creates the device.
    init(
        client: OwnedDescriptor,
        user: uid_t,
        device: OwnedDescriptor,
        serialNumber: String,
        policy: PeerPolicy,
        threads: PriorityThreads
    ) throws(DeviceFailure) {
        // Before the check, so that no change is missed between them.
        monitor = policy.monitor()
        guard policy.admits(user) else { throw .notAdmitted }
        guard let reader = EventReader(device) else { throw .noResources }
        (self.client, self.device, self.user, self.policy, self.reader) = (client, device, user, policy, reader)
        try device.write(.create(serialNumber: serialNumber))
        reader.start(with: threads)
    }

    /// Passes reports until the client closes the connection; blocks.
    func run() throws(DeviceFailure) {
        defer {
            reader.stop()
            try? device.write(.destroy)
        }
        var polled = [client.number, reader.descriptor, monitor?.descriptor ?? -1].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        while true {
            let isOpen = limit.isOpen(at: .now)
            polled[0].events = Int16((isOpen ? POLLIN : 0) | (isBlocked ? POLLOUT : 0))
            // A millisecond is enough for the limit to open. Without a monitor, the session is checked each second.
            let count = poll(&polled, nfds_t(polled.count), isOpen ? (monitor == nil ? 1000 : -1) : 1)
            guard count > 0 || (count == 0 && isOpen) else { continue }
            if count == 0 || polled[2].revents != 0 {
                monitor?.reset()
                try checkSession()
            }
            if polled[1].revents != 0 { try reader.reset() }
            let isClosed = polled[0].revents & Int16(POLLHUP | POLLERR) != 0
            guard try sendOutput(), try receiveInput(), !isClosed else { return }
        }
    }

    private func checkSession() throws(DeviceFailure) {
        guard policy.admits(user) else { throw .notAdmitted }
    }

    /// Sends reports of programs to the client while its socket has room; returns false if it has closed the connection.
    private func sendOutput() throws(DeviceFailure) -> Bool {
        while let report = reader.next() {
            if report.beginsMessage { try checkSession() }
            let count = withUnsafeBytes(of: report.bytes) {
                send(client.number, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            isBlocked = count != DeviceReport.length
            guard !isBlocked else { return errno == EAGAIN || errno == EINTR }
            reader.remove()
        }
        return true
    }

    /// Receives reports of the client while the limits permit; returns false if it has closed the connection.
    private func receiveInput() throws(DeviceFailure) -> Bool {
        var bytes = SIMD64<UInt8>()
        while true {
            let now = ContinuousClock.now
            guard limit.isOpen(at: now) else { return true }
            let count = recv(client.number, &bytes, DeviceReport.length, CInt(MSG_DONTWAIT | MSG_TRUNC))
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            guard count > 0 else { return false }
            guard count == DeviceReport.length else { throw .wrongLength(count) }
            let report = DeviceReport(bytes)
            if report.beginsMessage { try checkSession() }
            limit.count(at: now)
            try device.write(.input(report))
        }
    }
}

/// The reason why a device was not created, or why it ended before its client closed the connection.
package enum DeviceFailure: Error, Hashable, CustomStringConvertible {
    /// `/dev/uhid` can't be opened, with the system's error number.
    case notOpened(CInt)
    /// The kernel refused a request or reports no more events, with the system's error number.
    case deviceFailed(CInt)
    /// The user may not have a device, or not any more.
    case notAdmitted
    /// The user has a device already, or there are too many.
    case secondDevice
    /// The client sent a message of another length, in bytes.
    case wrongLength(Int)
    /// The client leaves reports unread.
    case clientStalled
    /// No descriptors or threads are left.
    case noResources

    /// The cause and the remedy on one line.
    package var description: String {
        switch self {
        case .notOpened(let code): "/dev/uhid: \(String(cString: strerror(code))); see FILES in hybrid-uhid(8)"
        case .deviceFailed(let code): "the kernel ended the device: \(String(cString: strerror(code))); see dmesg"
        case .notAdmitted:
            "not active on seat0; switch to a session of this user, or list the user in HYBRID_UHID_USERS if no one "
                + "is active there"
        case .secondDevice: "this user has a device already, or 16 users have; end the other hybrid-key first"
        case .wrongLength(let length): "a message of \(length) bytes instead of 64; update hybrid-key"
        case .clientStalled: "512 reports were left unread; restart hybrid-key"
        case .noResources: "no descriptors or threads left; restart hybrid-uhid.service"
        }
    }
}
