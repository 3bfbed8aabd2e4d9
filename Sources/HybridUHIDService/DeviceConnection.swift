// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridThreads

/// A descriptor that is closed with its last reference.
package final class OpenDescriptor: Sendable {
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
/// It runs on one thread. Another one, ``EventReader``, only reads events.
final class DeviceConnection {
    private let client: OpenDescriptor
    private let device: OpenDescriptor
    private let user: uid_t
    private let policy: PeerPolicy
    private let monitor: SeatMonitor?
    private let reader: EventReader
    private var limit = InputLimit()
    /// Reports for which the client's socket had no room.
    private var unsent: ArraySlice<DeviceReport> = []

    /// Creates the device.
    init(
        client: OpenDescriptor,
        user: uid_t,
        device: OpenDescriptor,
        serialNumber: String,
        policy: PeerPolicy
    ) throws(DeviceFailure) {
        // Before the check, so that no change is missed between them.
        monitor = policy.monitor()
        guard policy.admits(user) else { throw .notAdmitted }
        guard let reader = EventReader(device) else { throw .noResources }
        (self.client, self.device, self.user, self.policy, self.reader) = (client, device, user, policy, reader)
        try device.write(.create(serialNumber: serialNumber))
        guard reader.start() else { throw .noResources }
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
            polled[0].events = Int16((isOpen ? POLLIN : 0) | (unsent.isEmpty ? 0 : POLLOUT))
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
        while true {
            if unsent.isEmpty { unsent = reader.take()[...] }
            guard let report = unsent.first else { return true }
            if report.beginsMessage { try checkSession() }
            let count = send(client.number, report.bytes, report.bytes.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
            guard count == report.bytes.count else { return errno == EAGAIN || errno == EINTR }
            unsent.removeFirst()
        }
    }

    /// Receives reports of the client while the limits permit; returns false if it has closed the connection.
    private func receiveInput() throws(DeviceFailure) -> Bool {
        var buffer = [UInt8](repeating: 0, count: DeviceReport.length)
        while true {
            let now = ContinuousClock.now
            guard limit.isOpen(at: now) else { return true }
            let count = recv(client.number, &buffer, buffer.count, CInt(MSG_DONTWAIT | MSG_TRUNC))
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            guard count > 0 else { return false }
            guard count == buffer.count, let report = DeviceReport(buffer) else { throw .wrongLength(count) }
            if report.beginsMessage { try checkSession() }
            limit.count(at: now)
            try device.write(.input(report))
        }
    }
}

/// A thread that only reads events, so that the kernel's queue of 32 events, which drops further ones, always has room.
private final class EventReader: Sendable {
    /// Maximum number of reports that wait for the client; the longest message has 129.
    private static let capacity = 512

    private struct Received {
        var reports: [DeviceReport] = []
        var failure: DeviceFailure?
        var isStopped = false
    }

    private let device: OpenDescriptor
    private let received = Locked(Received())
    private let arrival: Waker

    /// Creates a reader; returns `nil` if the process has no descriptors left.
    init?(_ device: OpenDescriptor) {
        guard let arrival = Waker() else { return nil }
        (self.device, self.arrival) = (device, arrival)
    }

    /// The descriptor that is readable when there may be reports or a failure.
    var descriptor: CInt { arrival.descriptor }

    /// Starts the thread; returns false if that is impossible.
    func start() -> Bool { DedicatedThread.start { self.run() } }

    /// Ends the thread at the next event, which must come: the kernel reports the end of a device.
    func stop() { received.withLock { $0.isStopped = true } }

    /// Makes the descriptor unreadable; ``take()`` must then be called until it returns no reports.
    ///
    /// - Throws: The failure that has ended the device.
    func reset() throws(DeviceFailure) {
        arrival.reset()
        if let failure = received.withLock(\.failure) { throw failure }
    }

    /// Removes and returns the reports that have arrived, oldest first.
    func take() -> [DeviceReport] {
        received.withLock { received in
            defer { received.reports = [] }
            return received.reports
        }
    }

    private func run() {
        var bytes = [UInt8](repeating: 0, count: UHIDEvent.length)
        while true {
            let count = read(device.number, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            let error = count < 0 ? errno : EIO
            guard count == bytes.count, let event = UHIDEvent(bytes) else {
                return add(nil, failure: .deviceFailed(error))
            }
            guard !received.withLock(\.isStopped) else { return }
            switch event {
            case .output(let report): add(report)
            case .getReport(let id): try? device.write(.rejectGetReport(id: id))
            case .setReport(let id): try? device.write(.rejectSetReport(id: id))
            case .other: break
            }
        }
    }

    /// Adds what has been received, and wakes the connection unless it continues by itself.
    private func add(_ report: DeviceReport?, failure: DeviceFailure? = nil) {
        let mustWake = received.withLock { received in
            let isFull = received.reports.count == Self.capacity
            received.failure = received.failure ?? failure ?? (isFull ? .clientStalled : nil)
            if let report, !isFull { received.reports.append(report) }
            return received.reports.count == 1 || received.failure != nil
        }
        if mustWake { arrival.wake() }
    }
}
