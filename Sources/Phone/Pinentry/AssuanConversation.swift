// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives
internal import HybridThreads

/// One connection to a pinentry program, from the greeting to `BYE`.
///
/// Its methods block the calling thread.
final class AssuanConversation {
    /// Maximum number of lines in the response to one command.
    private static let maximumLines = 256

    /// The response to a command.
    struct Response {
        /// The gpg-error code (low 16 bits), 0 for `OK`.
        var code = 0
        /// The data of the response, which may be secret.
        var secret = PinentrySecret()
        /// True if the program itself asked twice and compared the inputs.
        var wasRepeated = false

        /// Returns the user's answer to a prompt.
        func answer() throws(PinentryError) -> ConfirmAnswer {
            switch code {
            case 0: return .yes
            case AssuanLine.Code.notConfirmed: return .no
            case AssuanLine.Code.cancelled, AssuanLine.Code.fullyCancelled: return .cancelled
            case AssuanLine.Code.timedOut: throw .timedOut
            case let code: throw .promptFailed(code: code)
            }
        }
    }

    private let process: PinentryProcess
    private let reader = LineReader(maximum: AssuanLine.maximumReceived)
    private let waker: Waker
    private let limits: Pinentry.Limits
    /// True until the first answer to a prompt that has replaced another one.
    private var isReplacement: Bool

    /// Starts the program and waits for its greeting.
    init(
        program: String,
        waker: Waker,
        limits: Pinentry.Limits,
        isReplacement: Bool = false
    ) throws(PinentryError) {
        self.process = try PinentryProcess(program: program)
        self.isReplacement = isReplacement
        self.waker = waker
        self.limits = limits
        do throws(PinentryError) {
            guard try response(within: limits.greeting).code == 0 else { throw .didNotStart(program) }
        } catch .exited, .timedOut {
            throw .didNotStart(program)
        }
    }

    /// Sends `BYE` and waits until the program exits.
    func end() {
        if let line = AssuanLine.command("BYE") { try? send(line) }
        process.finish()
    }

    /// Closes the prompt by ending the program.
    func abort() { process.terminate() }

    /// Sends a setting if there is one; ignores the error of a program that does not know it.
    func set(_ command: String, _ text: String?) throws(PinentryError) {
        guard let text else { return }
        _ = try send(command, text, within: limits.reply)
    }

    /// Sends a setting that the prompt requires.
    func setRequired(_ command: String, _ text: String) throws(PinentryError) {
        let code = try send(command, text, within: limits.reply).code
        guard code == 0 else { throw .promptFailed(code: code) }
    }

    /// Sends a command that shows a prompt, and waits for the user's answer.
    ///
    /// If the prompt has replaced one that closed while the user may have been typing, an answer within
    /// ``Pinentry/Limits/replacement`` was meant for the closed one: the prompt is shown again.
    func ask(_ command: String, within limit: Duration) throws(PinentryError) -> Response {
        let start = ContinuousClock.now + limits.replacement
        defer { isReplacement = false }
        let response = try send(command, within: limit)
        guard isReplacement, ContinuousClock.now < start else { return response }
        // Otherwise, a key that repeats would answer the prompt that is shown again.
        try pause(until: start)
        return try send(command, within: limit)
    }

    private func pause(until end: ContinuousClock.Instant) throws(PinentryError) {
        var polled = pollfd(fd: waker.descriptor, events: CShort(POLLIN), revents: 0)
        while end > .now {
            let count = poll(&polled, 1, CInt((end - .now) / .milliseconds(1)) + 1)
            guard count <= 0 else { throw .interrupted }
        }
    }

    /// Sends a command and waits for the response.
    func send(_ command: String, _ text: String? = nil, within limit: Duration) throws(PinentryError) -> Response {
        guard let line = AssuanLine.command(command, text) else { throw .textTooLong }
        try send(line)
        return try response(within: limit)
    }

    private func response(within limit: Duration) throws(PinentryError) -> Response {
        let deadline = ContinuousClock.now + limit
        var response = Response()
        for _ in 0..<Self.maximumLines {
            let (reply, fits) = try line(before: deadline, into: response.secret)
            guard fits else { throw .protocolViolation }
            switch reply {
            case .ok:
                response.secret.decodePercent()
                return response
            case .error(let code):
                response.code = code == 0 ? -1 : code
                return response
            case .status(let word): if word == "PIN_REPEATED" { response.wasRepeated = true }
            case .data, .comment: break
            // Inquiries are always canceled: the program gets no data other than the commands.
            case .inquiry: if let line = AssuanLine.command("CAN") { try send(line) }
            case .invalid: throw .protocolViolation
            }
        }
        throw .protocolViolation
    }

    private func line(
        before deadline: ContinuousClock.Instant,
        into secret: PinentrySecret
    ) throws(PinentryError) -> (AssuanLine.Reply, fits: Bool) {
        while true {
            let read = try reader.next { line -> (AssuanLine.Reply, Bool) in
                let reply = AssuanLine.parse(line)
                guard reply == .data else { return (reply, true) }
                return (reply, secret.append(UnsafeRawBufferPointer(rebasing: line.dropFirst(2))))
            }
            if let read { return read }
            try waitForMore(before: deadline)
            guard try reader.fill(from: process.descriptor) else { throw closed }
        }
    }

    private func waitForMore(before deadline: ContinuousClock.Instant) throws(PinentryError) {
        while true {
            let left = deadline - ContinuousClock.now
            guard left > .zero else { throw .timedOut }
            // At most a minute at a time, so that the milliseconds fit into 32 bits.
            let milliseconds = Int32(min(left, .seconds(60)) / .milliseconds(1)) + 1
            var descriptors = [
                pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: process.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&descriptors, 2, milliseconds) >= 0 || errno == EINTR else { throw .exited }
            if descriptors[0].revents != 0 { throw .interrupted }
            if descriptors[1].revents != 0 { return }
        }
    }

    /// The error for a closed connection; a signal such as that of Ctrl-C may have ended the program.
    private var closed: PinentryError { process.wasInterrupted ? .interrupted : .exited }

    private func send(_ line: [UInt8]) throws(PinentryError) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(process.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR { continue }
            // The socket buffers about 200 kB; a program that leaves so much unread does not respond.
            guard count > 0 else { throw closed }
            rest = rest.dropFirst(count)
        }
    }
}
