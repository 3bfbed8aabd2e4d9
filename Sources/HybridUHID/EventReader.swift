// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc
internal import HybridThreads
internal import Synchronization

/// A thread that only reads events, so that the kernel's queue of 32 events, which drops further ones, has room.
///
/// Reports go through a ring to one other thread. While that thread is awake, a report costs one read(2), without a lock
/// or an allocation.
final class EventReader: Sendable {
    /// Maximum number of reports that wait for the client; the longest message has 129.
    private static let capacity = 512
    /// The value of `ending` after ``stop()`` and after an overflow; others are error numbers.
    private static let (stopped, overflow) = (CInt(-1), CInt(-2))

    private let device: OwnedDescriptor
    private let arrival: OwnedDescriptor
    // SAFETY of nonisolated(unsafe): the pointer is constant. The reading thread writes a slot before it adds 1 to
    // `added`; the other thread reads the slot after that, and before it adds 1 to `removed`. Only then is the slot
    // written again. Both numbers have one writer each.
    private nonisolated(unsafe) let slots: UnsafeMutablePointer<DeviceReport>
    private let added = Atomic(0)
    private let removed = Atomic(0)
    /// True if the next report must wake the other thread.
    private let isAwaited = Atomic(true)
    private let ending = Atomic<CInt>(0)

    /// Creates a reader; returns `nil` if the process has no descriptors left.
    init?(_ device: OwnedDescriptor) {
        let descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        (self.device, arrival, slots) = (device, OwnedDescriptor(descriptor), .allocate(capacity: Self.capacity))
        // Now, so that no report waits for the system's memory.
        slots.initialize(repeating: DeviceReport(SIMD64()), count: Self.capacity)
    }

    deinit { slots.deallocate() }

    /// The descriptor that is readable when there may be reports or a failure.
    var descriptor: CInt { arrival.number }

    /// Starts the thread; if that is impossible, ``reset()`` throws.
    func start(with threads: PriorityThreads) {
        threads.start {
            self.run()
        } otherwise: {
            self.end(EAGAIN)
        }
    }

    /// Ends the thread at the next event, which must come: the kernel reports the end of a device.
    func stop() { ending.store(Self.stopped, ordering: .relaxed) }

    /// Makes the descriptor unreadable; ``next()`` must then be called until it returns no report.
    ///
    /// - Throws: The failure that has ended the device.
    func reset() throws(DeviceFailure) {
        var count: eventfd_t = 0
        eventfd_read(arrival.number, &count)
        let reason = ending.load(ordering: .acquiring)
        if reason == Self.overflow { throw .clientStalled }
        if reason > 0 { throw .deviceFailed(reason) }
    }

    /// Returns the oldest report; `nil` if there is none, and the next one then makes the descriptor readable.
    func next() -> DeviceReport? {
        let number = removed.load(ordering: .relaxed)
        if added.load(ordering: .acquiring) == number {
            isAwaited.store(true, ordering: .sequentiallyConsistent)
            // Again, because the thread may have added a report just before.
            guard added.load(ordering: .sequentiallyConsistent) != number else { return nil }
        }
        return slots[number % Self.capacity]
    }

    /// Removes the report that ``next()`` has returned.
    func remove() { removed.add(1, ordering: .releasing) }

    private func run() {
        var bytes = [UInt8](repeating: 0, count: UHIDEvent.length)
        while true {
            let count = read(device.number, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count == bytes.count, let event = UHIDEvent(bytes) else { return end(count < 0 ? errno : EIO) }
            guard ending.load(ordering: .relaxed) == 0 else { return }
            switch event {
            case .output(let report): guard add(report) else { return end(Self.overflow) }
            case .getReport(let id): try? device.write(.rejectGetReport(id: id))
            case .setReport(let id): try? device.write(.rejectSetReport(id: id))
            case .other: break
            }
        }
    }

    /// Adds a report, and wakes the other thread if it waits; returns false if the ring is full.
    private func add(_ report: DeviceReport) -> Bool {
        let number = added.load(ordering: .relaxed)
        guard number - removed.load(ordering: .acquiring) < Self.capacity else { return false }
        slots[number % Self.capacity] = report
        added.store(number + 1, ordering: .sequentiallyConsistent)
        if isAwaited.exchange(false, ordering: .sequentiallyConsistent) { eventfd_write(arrival.number, 1) }
        return true
    }

    private func end(_ reason: CInt) {
        ending.store(reason, ordering: .releasing)
        eventfd_write(arrival.number, 1)
    }
}

/// The limit on reports of the client, which waits while it is reached: 8 at once, and 6,000 a second.
///
/// The kernel's queue for each program that has the device open holds 64 reports, and drops further ones. With these
/// numbers, a program may pause for 9 milliseconds at any time. A larger burst at a lower rate takes as long for the longest
/// message, 129 reports, and permits a shorter pause at its beginning. The limit also keeps a client from occupying a
/// processor.
///
/// It is the generic cell rate algorithm (ITU-T I.371).
struct InputLimit: Sendable {
    static let (perSecond, burst) = (6_000, 8)

    private let interval = Duration.seconds(1) / Self.perSecond
    private var tolerance: Duration { interval * (Self.burst - 1) }
    /// The time at which the next report is due if reports come at the highest steady rate.
    private var due: ContinuousClock.Instant?

    /// Returns true if a report may pass.
    func isOpen(at now: ContinuousClock.Instant) -> Bool { due.map { $0 - now <= tolerance } ?? true }

    /// Counts a report.
    mutating func count(at now: ContinuousClock.Instant) { due = max(due ?? now, now) + interval }
}
