// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridSecurityKey
internal import HybridThreads

/// The state machine of the key and its window, driven by one thread.
struct SecurityKeyLoop {
    /// Maximum number of reports between two looks at the clock.
    private static let batch = 64
    /// Sleep of this length ends a request: its phone and its client have given up.
    private static let sleepLimit = Duration.seconds(1)

    private var key: SecurityKey
    private var state: SecurityKeyState
    private let clock: SleepClock
    private let dependencies: SecurityKeyWindow.Dependencies
    private let inbox: SecurityKeyInbox
    private var window: SecurityKeyWindow?
    /// The time that the computer had slept when it was last looked at.
    private var slept = Duration.zero

    init(
        _ key: SecurityKey,
        _ state: SecurityKeyState,
        _ clock: SleepClock,
        _ dependencies: SecurityKeyWindow.Dependencies,
        _ inbox: SecurityKeyInbox
    ) {
        self.key = key
        self.state = state
        self.clock = clock
        self.dependencies = dependencies
        self.inbox = inbox
    }

    /// Serves the clients of a device until the helper leaves or the server stops.
    mutating func run(_ connection: HelperConnection) {
        repeat {
            guard perform(due(), connection), receive(connection) else { break }
        } while inbox.wait(for: connection.descriptor, within: timeLeft) != .stopped
        // The clients are gone with the device.
        _ = perform(key.suspend(at: clock.now()), nil)
    }

    /// The time until the key has something to do; `nil` if it is idle.
    private var timeLeft: Duration? { key.deadline.map { max(.zero, $0 - clock.now()) } }

    /// Returns what follows from the time and the events of windows.
    private mutating func due() -> [SecurityKeyAction] {
        var actions: [SecurityKeyAction] = []
        let now = clock.now()
        let slept = now - clock.awake()
        if slept - self.slept >= Self.sleepLimit { actions += key.suspend(at: now) }
        self.slept = slept
        for (id, event) in inbox.take() {
            switch event {
            case .user(let end): actions += key.windowEnded(id, by: end, at: now)
            case .phone(let result): actions += key.phoneEnded(id, with: result, at: now)
            }
        }
        return actions + key.advance(to: now)
    }

    /// Processes the reports that have arrived; returns false if the connection has ended.
    private mutating func receive(_ connection: HelperConnection) -> Bool {
        for count in 0..<Self.batch {
            switch connection.receive() {
            case .none: return true
            case .end: return false
            case .report(let report):
                if count == 0 { state.refresh(&key, at: clock.now()) }
                guard perform(key.receive(report, at: clock.now()), connection) else { return false }
            }
        }
        return true
    }

    /// Performs actions; returns false if reports can't be sent.
    private mutating func perform(_ actions: [SecurityKeyAction], _ connection: HelperConnection?) -> Bool {
        var reports: [HIDReport] = []
        for action in actions {
            switch action {
            case .send(let report): reports.append(report)
            case .askPresence(let id): open(id, .selection)
            case .askPhone(let id, let request, let afterConfirmation, let isForGuest):
                open(id, .phone(request, afterConfirmation: afterConfirmation, isForGuest: isForGuest))
            case .closeWindow(let id, let status):
                if window?.id == id {
                    window?.close(status)
                    window = nil
                }
            case .memoryChanged: state.save(key.memory)
            }
        }
        return connection?.send(reports) ?? true
    }

    private mutating func open(_ id: WindowID, _ content: SecurityKeyWindow.Content) {
        let inbox = inbox
        window = SecurityKeyWindow(id, content, dependencies) { id, event in inbox.post(id, event) }
        guard window == nil else { return }
        dependencies.report("no window can be opened: no threads or file descriptors left")
        inbox.post(id, .user(.closing))
    }
}

/// The events for the thread of the key.
final class SecurityKeyInbox: Sendable {
    private struct Content {
        var events: [(WindowID, SecurityKeyWindow.Event)] = []
        var isStopped = false
    }

    private let content = Locked(Content())
    private let waker: Waker

    /// Creates an inbox, or returns `nil` if the process has no descriptors left.
    init?() {
        guard let waker = Waker() else { return nil }
        self.waker = waker
    }

    /// Adds an event.
    func post(_ id: WindowID, _ event: SecurityKeyWindow.Event) {
        content.withLock { $0.events.append((id, event)) }
        waker.wake()
    }

    /// Ends each wait, now and in the future.
    func stop() {
        content.withLock { $0.isStopped = true }
        waker.wake()
    }

    /// Returns and removes all events, in the order of their arrival.
    func take() -> [(WindowID, SecurityKeyWindow.Event)] {
        content.withLock { content in
            defer { content.events = [] }
            return content.events
        }
    }

    /// The reason why a wait has ended.
    enum Wakeup {
        /// There is an event, or the descriptor is readable.
        case ready
        case timedOut
        case stopped
    }

    /// Waits until a descriptor is readable, an event arrives or a time limit has passed.
    func wait(for descriptor: CInt, within limit: Duration?) -> Wakeup {
        var polled = [descriptor, waker.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        // Rounded up, so that the time limit has passed when poll(2) returns.
        let milliseconds = limit.map { CInt(clamping: Int($0 / .milliseconds(1)) + 1) } ?? -1
        let count = poll(&polled, nfds_t(polled.count), milliseconds)
        waker.reset()
        if content.withLock({ $0.isStopped }) { return .stopped }
        return count == 0 ? .timedOut : .ready
    }
}
