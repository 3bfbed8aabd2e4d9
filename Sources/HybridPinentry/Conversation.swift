// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// One talk with one program, from the greeting to `BYE`; blocking, on a thread of its own.
final class Conversation {
    /// The most lines that one command may be answered with.
    private static let maximumLines = 256

    /// What a command was answered with.
    struct Answer {
        /// The gpg-error code (low 16 bits), 0 for `OK`.
        var code = 0
        /// The data, if it was asked for.
        var secret = PinentrySecret()
        /// Whether the program itself asked twice and compared.
        var wasRepeated = false
    }

    private let child: ChildProcess
    private let reader = LineReader()
    private let waker: Waker
    private let limits: Pinentry.Limits

    /// Starts the program and waits for its greeting.
    init(program: String, waker: Waker, limits: Pinentry.Limits) throws(PinentryError) {
        self.child = try ChildProcess(program: program)
        self.waker = waker
        self.limits = limits
        let greeting: Answer
        do {
            greeting = try answer(within: limits.greeting)
        } catch {
            switch error {
            case .gone, .timedOut: throw .didNotStart(program)
            default: throw error
            }
        }
        guard greeting.code == 0 else { throw .didNotStart(program) }
    }

    /// Says good-bye and buries the program.
    func end() {
        if let line = AssuanLine.command("BYE") { try? send(line) }
        child.finish()
    }

    /// Takes the prompt down.
    func abort() { child.takeDown() }

    /// Sends a setting; one that the program does not know is no matter.
    func set(_ command: String, _ text: String?) throws(PinentryError) {
        guard let text else { return }
        _ = try ask(command, text, within: limits.reply)
    }

    /// Sends a setting without which the question would not be the same.
    func mustSet(_ command: String, _ text: String) throws(PinentryError) {
        let code = try ask(command, text, within: limits.reply).code
        guard code == 0 else { throw .couldNotAsk(code: code) }
    }

    /// Sends a command and waits for its answer.
    func ask(_ command: String, _ text: String? = nil, within limit: Duration) throws(PinentryError) -> Answer {
        guard let line = AssuanLine.command(command, text) else { throw .textTooLong }
        try send(line)
        return try answer(within: limit)
    }

    private func answer(within limit: Duration) throws(PinentryError) -> Answer {
        let deadline = ContinuousClock.now + limit
        var answer = Answer()
        for _ in 0..<Self.maximumLines {
            let (reply, isTaken) = try line(before: deadline, into: answer.secret)
            guard isTaken else { throw .spokeNonsense }
            switch reply {
            case .ok:
                guard answer.secret.decodePercent() else { throw .spokeNonsense }
                return answer
            case .error(let code):
                answer.code = code == 0 ? -1 : code
                return answer
            case .status(let word): if word == "PIN_REPEATED" { answer.wasRepeated = true }
            case .data, .comment: break
            // Nothing is ever told to the program but what a command says.
            case .inquiry: if let line = AssuanLine.command("CAN") { try send(line) }
            case .nonsense: throw .spokeNonsense
            }
        }
        throw .spokeNonsense
    }

    private func line(
        before deadline: ContinuousClock.Instant,
        into secret: PinentrySecret
    ) throws(PinentryError) -> (AssuanLine.Reply, isTaken: Bool) {
        while true {
            do {
                let taken = try reader.next { line -> (AssuanLine.Reply, Bool) in
                    let reply = AssuanLine.parse(line)
                    guard reply == .data else { return (reply, true) }
                    return (reply, secret.append(UnsafeRawBufferPointer(rebasing: line.dropFirst(2))))
                }
                if let taken { return taken }
                try waitForMore(before: deadline)
                try reader.fill(from: child.descriptor)
            } catch let failure as LineReader.Failure {
                throw failure == .tooLong ? .spokeNonsense : hungUp
            } catch let error as PinentryError {
                throw error
            } catch {
                throw .gone
            }
        }
    }

    private func waitForMore(before deadline: ContinuousClock.Instant) throws(PinentryError) {
        while true {
            let left = deadline - ContinuousClock.now
            guard left > .zero else { throw .timedOut }
            // At most a minute at once, so that the milliseconds fit; then it is looked again.
            let milliseconds = Int32(min(left, .seconds(60)) / .milliseconds(1)) + 1
            var descriptors = [
                pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: child.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&descriptors, 2, milliseconds) >= 0 || errno == EINTR else { throw .gone }
            if descriptors[0].revents != 0 { throw .takenDown }
            if descriptors[1].revents != 0 { return }
        }
    }

    /// Why the program is gone: somebody may have ended it, with this program or alone.
    private var hungUp: PinentryError { child.wasToldToEnd ? .takenDown : .gone }

    private func send(_ line: [UInt8]) throws(PinentryError) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(child.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR { continue }
            // A program that lets 200 kB of commands lie unread is as good as gone.
            guard count > 0 else { throw hungUp }
            rest = rest.dropFirst(count)
        }
    }
}
