// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridThreads

/// The lines of standard input, each within a time limit.
final class SessionInput: Sendable {
    /// Maximum length of a line in bytes.
    static let maximumLength = 8192

    /// The result of waiting for a line.
    enum Event: Equatable {
        /// A line, without its line feed.
        case line([UInt8])
        /// A line is longer than ``maximumLength``.
        case tooLong
        /// No line arrived in time.
        case idle
        /// The input has ended, or the task was canceled.
        case ended
    }

    private let descriptor: CInt
    private let waker: Waker
    private let buffer = Locked<[UInt8]>([])

    /// Creates an instance; `nil` if the process has no descriptors left.
    init?(descriptor: CInt = STDIN_FILENO) {
        guard let waker = Waker() else { return nil }
        self.descriptor = descriptor
        self.waker = waker
    }

    /// Waits for the next line.
    func next(within limit: Duration) async -> Event {
        let end = ContinuousClock.now + limit
        return await withTaskCancellationHandler {
            await DedicatedThread.run { self.wait(until: end) }
        } onCancel: {
            waker.wake()
        }
    }

    private func wait(until end: ContinuousClock.Instant) -> Event {
        while true {
            if let event = takeLine() { return event }
            let rest = max(0, (end - .now) / .milliseconds(1))
            var polled = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let ready = poll(&polled, 2, CInt(min(rest.rounded(.up), 1e9)))
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else { return ready == 0 ? .idle : .ended }
            guard polled[1].revents == 0, fill() else { return .ended }
        }
    }

    private func takeLine() -> Event? {
        buffer.withLock { buffer in
            guard let end = buffer.firstIndex(of: UInt8(ascii: "\n")) else {
                return buffer.count > Self.maximumLength ? .tooLong : nil
            }
            guard end <= Self.maximumLength else { return .tooLong }
            defer { buffer.removeSubrange(...end) }
            return .line(Array(buffer[..<end]))
        }
    }

    /// Reads what is available; returns false at the end of the input.
    private func fill() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return true }
        guard count > 0 else { return false }
        buffer.withLock { $0 += bytes[..<count] }
        return true
    }
}
