// SPDX-License-Identifier: Apache-2.0

private import Dispatch
private import Glibc
internal import HybridPrimitives
internal import HybridProgram
private import Synchronization

/// The descriptor to which the signal handler writes; -1 if there is no pipe.
///
/// A signal handler may call little more than `write(2)`. It can safely read this variable, which is initialized before
/// the first handler is installed, and an atomic load takes no lock.
private let signalPipe = Atomic<Int32>(-1)

/// Signals as calls of a closure: a handler writes the signal's number to a pipe, and a reader calls the closure.
///
/// The reader is a source of Dispatch, which has no thread until the first signal.
///
/// For signalfd and Dispatch's signal sources, signals must be blocked or ignored. Child processes would inherit that
/// and no longer react to Ctrl-C, so this type uses handlers.
struct SignalPipe {
    private let source: any DispatchSourceRead
    private let writeEnd: Int32
    private let signals: [TerminationSignal]
    private let previous: [sigaction]

    /// Installs handlers for the signals; a second SIGINT ends the program at once with status 130.
    ///
    /// - Parameters:
    ///   - signals: The signals.
    ///   - receive: Called with each signal as it arrives, on another thread.
    /// - Throws: ``CommandFailure`` if the system has no descriptors left.
    init(
        _ signals: [TerminationSignal],
        receive: @escaping @Sendable (TerminationSignal) -> Void
    ) throws(CommandFailure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw CommandFailure("no file descriptors left", status: .unavailable) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let (readEnd, writeEnd) = (ends[0], ends[1])
        (self.writeEnd, self.signals) = (writeEnd, signals)
        source = DispatchSource.makeReadSource(fileDescriptor: readEnd, queue: .global())
        let interrupts = InterruptCounter()
        source.setEventHandler {
            var number: UInt8 = 0
            while read(readEnd, &number, 1) == 1 {
                guard let signal = TerminationSignal(rawValue: Int32(number)) else { continue }
                if signal == .interrupt, interrupts.next() > 1 { _exit(ExitStatus.interrupted.rawValue) }
                receive(signal)
            }
        }
        source.setCancelHandler { close(readEnd) }
        signalPipe.store(writeEnd, ordering: .sequentiallyConsistent)
        previous = signals.map { signal in
            var action = sigaction()
            var before = sigaction()
            action.sa_flags = SA_RESTART
            action.__sigaction_handler.sa_handler = { number in
                let saved = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(signalPipe.load(ordering: .relaxed), &byte, 1)
                errno = saved
            }
            sigaction(signal.rawValue, &action, &before)
            return before
        }
        source.resume()
    }

    /// Returns true if this process ignores a signal.
    static func isIgnored(_ signal: TerminationSignal) -> Bool {
        var action = sigaction()
        sigaction(signal.rawValue, nil, &action)
        // SIG_IGN.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    /// Restores the previous handlers.
    func stop() {
        for (signal, before) in zip(signals, previous) {
            var before = before
            sigaction(signal.rawValue, &before, nil)
        }
        signalPipe.store(-1, ordering: .sequentiallyConsistent)
        source.cancel()
        close(writeEnd)
    }

    /// A counter of received SIGINTs.
    private final class InterruptCounter: Sendable {
        private let value = Atomic<Int>(0)

        func next() -> Int { value.add(1, ordering: .relaxed).newValue }
    }
}
