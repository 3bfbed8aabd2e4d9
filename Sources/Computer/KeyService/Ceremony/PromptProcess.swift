// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridThreads

/// A running prompt program, used by one thread.
final class PromptProcess {
    /// The process.
    let process: ChildProcess
    /// The input of the program; the other end is the standard error of the ceremony.
    let progress: SocketEnds
    /// The output of the program.
    let answers: SocketEnds
    private var line: [UInt8] = []
    /// True once the user has agreed to use the phone.
    private var hasAgreed = false
    /// True once the user has agreed for the future, too.
    private(set) var isPermanent = false
    /// True once the user wants a code instead of waiting for a linked phone.
    private var wantsCode = false

    /// Starts a program and sends it an event on one or several lines; returns `nil` if it can't be started.
    init?(path: String, event: String) {
        guard let progress = SocketEnds(), let answers = SocketEnds() else { return nil }
        let first = Array((event + "\n").utf8)
        guard send(progress.other, first, first.count, CInt(MSG_NOSIGNAL)) == first.count else { return nil }
        let process: ChildProcess
        do throws(ChildProcess.SpawnError) {
            process = try .spawn([path], input: .descriptor(progress.own), output: .descriptor(answers.other))
        } catch {
            return nil
        }
        (self.process, self.progress, self.answers) = (process, progress, answers)
        progress.closeOwn()
        answers.closeOther()
        // Reaps the process whenever it ends, which may be after the ceremony.
        _ = DedicatedThread.start { process.waitBlocking() }
    }

    /// An event that ends the ceremony.
    enum End {
        /// The user has canceled.
        case cancelled
        /// The program has ended without an answer, for example because there is no display.
        case gone
    }

    /// Reads the available answers; returns `nil` if the ceremony goes on.
    func readAnswers() -> End? {
        var chunk = [UInt8](repeating: 0, count: 256)
        let count = recv(answers.own, &chunk, chunk.count, CInt(MSG_DONTWAIT))
        if count < 0, errno == EINTR || errno == EAGAIN { return nil }
        guard count > 0 else { return .gone }
        for byte in chunk[..<count] {
            if byte == UInt8(ascii: "\n") {
                if line.elementsEqual("cancel".utf8) { return .cancelled }
                if line.elementsEqual("proceed".utf8) { hasAgreed = true }
                if line.elementsEqual("proceed-always".utf8) { (hasAgreed, isPermanent) = (true, true) }
                if line.elementsEqual("show-code".utf8) { wantsCode = true }
                line = []
            } else if line.count < 64 {
                line.append(byte)
            }
        }
        return nil
    }

    /// Returns true once after each request for a code.
    func takeCodeRequest() -> Bool {
        defer { wantsCode = false }
        return wantsCode
    }

    /// Returns true once after each agreement to use the phone.
    func takeAgreement() -> Bool {
        defer { hasAgreed = false }
        return hasAgreed
    }

    /// The user's decision in a prompt without a ceremony.
    enum Decision: Hashable {
        /// The user wants to use the phone.
        case agreed
        /// The user has canceled.
        case cancelled
        /// The program has ended without an answer, also after its user has read a message.
        case gone
        /// The client has left.
        case withdrawn
        /// The time limit has passed.
        case timedOut
    }

    /// Waits for a decision of the user.
    ///
    /// - Parameters:
    ///   - cancellation: Becomes active when the client has left.
    ///   - limit: The time limit; `nil` for none.
    func decision(unless cancellation: SigningCancellation, within limit: Duration? = nil) -> Decision {
        let end = limit.map { ContinuousClock.now + $0 }
        var polled = [answers.own, cancellation.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            let rest = end.map { max(0, Int(($0 - ContinuousClock.now) / .milliseconds(1)) + 1) } ?? -1
            let count = poll(&polled, nfds_t(polled.count), CInt(clamping: rest))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return .timedOut }
            if polled[1].revents != 0 { return .withdrawn }
            switch readAnswers() {
            case .cancelled: return .cancelled
            case .gone: return .gone
            case nil:
                guard takeAgreement() else { continue }
                return .agreed
            }
        }
    }

    /// Closes the prompt.
    func end() { process.terminate() }
}

extension ChildProcess {
    /// Time for a prompt program to end after SIGTERM.
    private static let endTimeout = Duration.seconds(5)

    /// Ends the process without waiting for it: by SIGTERM, then by SIGKILL if it ignores that.
    func terminate() {
        send(SIGTERM)
        let isStarted = DedicatedThread.start { [self] in
            if waitBlocking(atMost: Self.endTimeout) == nil { send(SIGKILL) }
        }
        if !isStarted { send(SIGKILL) }
    }
}

/// Two connected sockets, of which one is for a child; both are closed on release.
final class SocketEnds {
    /// The end of this process; -1 once it is closed.
    private(set) var own: CInt
    /// The end of a child; -1 once it is closed here.
    private(set) var other: CInt

    /// Creates the sockets, or returns `nil` if the process has no descriptors left.
    init?() {
        guard let pair = SocketPair.make() else { return nil }
        (own, other) = pair
    }

    deinit {
        closeOwn()
        closeOther()
    }

    /// Time for a child to read what is sent.
    private static let sendTimeout = 10

    /// Sends bytes to the child, as many as it reads.
    func send(_ bytes: [UInt8]) {
        var timeout = timeval(tv_sec: Self.sendTimeout, tv_usec: 0)
        setsockopt(own, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(own, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func closeOwn() {
        if own >= 0 { close(own) }
        own = -1
    }

    func closeOther() {
        if other >= 0 { close(other) }
        other = -1
    }
}
