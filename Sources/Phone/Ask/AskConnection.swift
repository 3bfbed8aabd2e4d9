// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPinentry
internal import HybridThreads

/// A running program, connected by a socket, and the conversation with it.
///
/// A thread reads what the program writes. It ends, and the program is reaped, once the program has closed its output, at
/// a violation of the protocol, or at the deadline.
final class AskConnection: Sendable {
    /// The conversation, whose changes tasks can await.
    let conversation = AwaitableState(AskConversation())
    private let process: ChildProcess
    private let descriptor: CInt
    private let waker: Waker
    private let deadline: Locked<Deadline>

    /// The time at which the program is ended.
    private struct Deadline {
        /// The time; `nil` while the program may run.
        var time: ContinuousClock.Instant?
        /// True once the program's input is closed.
        var isFinal = false
    }

    /// Starts a program with the socket as its standard input and output, and no other connection of this process.
    ///
    /// It leads its own process group: Ctrl-C at the terminal reaches this process alone, which withdraws the question.
    ///
    /// - Returns: `nil` if it can't be started.
    init?(program: String, variables: [String: String], readyWithin limit: Duration) {
        guard let waker = Waker(), let (ours, its) = SocketPair.make() else { return nil }
        let started = try? ChildProcess.spawn(
            [program],
            variables: variables,
            input: .descriptor(its),
            output: .descriptor(its),
            role: .service
        )
        close(its)
        guard let started else {
            close(ours)
            return nil
        }
        (process, descriptor, self.waker) = (started, ours, waker)
        deadline = Locked(Deadline(time: .now + limit))
    }

    deinit { close(descriptor) }

    /// Starts the thread; returns false if the system has none left.
    func start() -> Bool { DedicatedThread.start { self.run() } }

    /// Sends a line if there is one; call it while the conversation is locked, so that lines keep their order.
    ///
    /// A program that leaves so much unread that the socket is full does not respond, and is ended.
    func send(_ line: [UInt8]?) {
        guard var rest = line?[...] else { return }
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                shutdown(descriptor, CInt(SHUT_RDWR))
                return
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Closes the program's input and ends it after `limit`.
    func finish(within limit: Duration) {
        shutdown(descriptor, CInt(SHUT_WR))
        deadline.withLock { $0 = Deadline(time: .now + limit, isFinal: true) }
        waker.wake()
    }

    private func run() {
        let reader = LineReader(maximum: AskLine.maximumReceived)
        var hasClosed = false
        while !hasClosed, waitForMore() {
            do throws(PinentryError) {
                hasClosed = try !reader.fill(from: descriptor)
                while try reader.next(receive) != nil {}
            } catch {
                break
            }
            guard conversation.read({ $0.isRunning }) else { break }
        }
        conversation.change { $0.end() }
        if hasClosed, process.waitBlocking(atMost: .seconds(2)) != nil { return }
        process.send(SIGTERM)
        if process.waitBlocking(atMost: .milliseconds(500)) != nil { return }
        process.send(SIGKILL)
        process.waitBlocking()
    }

    private func receive(_ line: UnsafeRawBufferPointer) {
        let isReady = conversation.change { conversation in
            let isStarting = conversation.phase == .starting
            conversation.receive(line)
            return isStarting && conversation.phase == .ready
        }
        if isReady { deadline.withLock { if !$0.isFinal { $0.time = nil } } }
    }

    /// Waits until the program has written something; returns false at the deadline.
    private func waitForMore() -> Bool {
        while true {
            let end = deadline.withLock { $0.time }
            let left = end.map { $0 - .now } ?? .seconds(60)
            guard left > .zero else { return false }
            // At most a minute at a time, so that the milliseconds fit into 32 bits.
            let milliseconds = CInt(min(left, .seconds(60)) / .milliseconds(1)) + 1
            var polled = [
                pollfd(fd: waker.descriptor, events: CShort(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: CShort(POLLIN), revents: 0),
            ]
            guard poll(&polled, 2, milliseconds) >= 0 || errno == EINTR else { return false }
            if polled[0].revents != 0 { waker.reset() }
            if polled[1].revents != 0 { return true }
        }
    }
}
