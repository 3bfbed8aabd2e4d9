// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import Glibc
internal import HybridPasskeysModel
internal import HybridPrimitives
internal import HybridWidgets

/// A running child process; all closures are called on the thread of the main loop.
///
/// The object lives until the process has ended and the last closure has been called.
final class AuthProcess {
    /// A receiver of lines.
    struct Handlers {
        /// Receives a line of standard output.
        var output: ([UInt8]) -> Void = { _ in }
        /// Receives a line of standard error.
        var diagnostic: ([UInt8]) -> Void = { _ in }
        /// Receives the exit status (`nil` after a signal) and the last line of standard error that is no event.
        var end: (Int32?, String) -> Void = { _, _ in }
    }

    private var process: Element?
    private var input: CInt
    private var output: Pipe
    private var diagnostics: Pipe
    private let handlers: Handlers
    private var lastLine = ""

    /// The readable end of a pipe, and the lines that arrive there.
    private struct Pipe {
        let descriptor: CInt
        var lines: OutputLines
        var source: GLibSource?
    }

    /// Starts `hybrid-auth` with a command.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - window: The window whose request this is, so that the request sheet may appear in front of it.
    ///   - handlers: The receivers.
    /// - Throws: ``AuthFailure/notInstalled`` if the program can't be started.
    convenience init(
        _ command: AuthCommand,
        for window: Element?,
        _ handlers: Handlers
    ) throws(AuthFailure) {
        let program = getenv("HYBRID_AUTH").map { String(cString: $0) } ?? "hybrid-auth"
        try self.init([program] + command.arguments, keepsInput: command.usesInput, for: window, handlers)
        if let line = command.firstLine { write(line) }
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: The program and its arguments.
    ///   - keepsInput: True if lines are to be written to its standard input, which is empty otherwise.
    ///   - window: The window whose request this is.
    ///   - handlers: The receivers.
    /// - Throws: ``AuthFailure/notInstalled`` if the program can't be started.
    init(
        _ arguments: [String],
        keepsInput: Bool = false,
        for window: Element? = nil,
        _ handlers: Handlers
    ) throws(AuthFailure) {
        var ends = [CInt](repeating: -1, count: 6)
        let isReady = (0..<3).allSatisfy { index in
            ends.withUnsafeMutableBufferPointer { buffer in
                guard let start = buffer.baseAddress else { return false }
                return g_unix_open_pipe(start + 2 * index, FD_CLOEXEC, nil) != 0
            }
        }
        guard isReady else {
            for end in ends where end >= 0 { close(end) }
            throw .notInstalled
        }
        self.handlers = handlers
        input = ends[1]
        output = Pipe(descriptor: ends[2], lines: OutputLines(limit: OutputLines.resultLimit))
        diagnostics = Pipe(descriptor: ends[4], lines: OutputLines(limit: OutputLines.diagnosticLimit))
        for end in [ends[1], ends[2], ends[4]] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        let token = window.flatMap { hybrid_activation_token($0.pointer) }
        defer { g_free(token) }
        let retained = Unmanaged.passRetained(self)
        let ask = "/usr/libexec/hybrid-ask"
        let isAskMissing = getenv("HYBRID_ASK") == nil && access(ask, X_OK) == 0
        let started = Self.withPointers(arguments) { pointers in
            hybrid_process_start(
                pointers,
                ends[0],
                ends[3],
                ends[5],
                "HYBRID_AUTH",
                isAskMissing ? ask : nil,
                token,
                { data, hasExited, status in
                    guard let data else { return }
                    let process = Unmanaged<AuthProcess>.fromOpaque(data).takeRetainedValue()
                    process.finish(hasExited != 0 ? status : nil)
                },
                retained.toOpaque()
            )
        }
        guard let started else {
            retained.release()
            closePipes()
            throw .notInstalled
        }
        process = Element(owned: started)
        if !keepsInput { closeInput() }
        output.source = GLibSource.whenReadable(output.descriptor) { [weak self] in self?.readOutput() ?? false }
        diagnostics.source = GLibSource.whenReadable(diagnostics.descriptor) { [weak self] in
            self?.readDiagnostics() ?? false
        }
    }

    /// Writes a line, with its line feed, to standard input; returns false if the process does not read.
    @discardableResult
    func write(_ line: UnsafeRawBufferPointer) -> Bool {
        guard input >= 0 else { return false }
        // Lines are shorter than the buffer of a pipe, so they are written as a whole or not at all.
        return Glibc.write(input, line.baseAddress, line.count) == line.count
    }

    /// Writes a line to standard input; returns false if the process does not read.
    @discardableResult
    func write(_ line: String) -> Bool {
        var bytes = Array((line + "\n").utf8)
        defer { SecretBytes.wipe(&bytes) }
        return bytes.withUnsafeBytes { write($0) }
    }

    /// Ends standard input, which asks the process to end.
    func closeInput() {
        if input >= 0 { close(input) }
        input = -1
    }

    /// Interrupts the process, as Ctrl-C in a terminal does.
    func interrupt() {
        if let process { hybrid_process_signal(process.pointer, SIGINT) }
    }

    private func readOutput() -> Bool {
        Self.read(&output) { handlers.output($0) }
    }

    private func readDiagnostics() -> Bool {
        Self.read(&diagnostics) { diagnose($0) }
    }

    private func diagnose(_ line: [UInt8]) {
        // Objects are events or lists of passkeys; neither belongs in the report of a failure.
        if let first = line.first, first != UInt8(ascii: "{") {
            lastLine = String(decoding: line.prefix(2000), as: UTF8.self)
        }
        handlers.diagnostic(line)
    }

    /// Reads what is available; returns false at the end.
    private static func read(_ pipe: inout Pipe, _ body: ([UInt8]) -> Void) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(pipe.descriptor, &buffer, buffer.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return true }
        guard count > 0 else { return false }
        for line in pipe.lines.append(buffer[..<count]) { body(line) }
        return true
    }

    private func finish(_ status: Int32?) {
        // The request sheet may hold the other end of standard error for longer, so its end is not awaited.
        while available(output.descriptor), readOutput() {}
        while available(diagnostics.descriptor), readDiagnostics() {}
        if let line = output.lines.finish() { handlers.output(line) }
        if let line = diagnostics.lines.finish() { diagnose(line) }
        closePipes()
        process = nil
        handlers.end(status, lastLine)
    }

    private func available(_ descriptor: CInt) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLIN) != 0
    }

    private func closePipes() {
        closeInput()
        output.source?.cancel()
        diagnostics.source?.cancel()
        close(output.descriptor)
        close(diagnostics.descriptor)
    }

    private static func withPointers<Result>(
        _ texts: [String],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var pointers = copies.map { UnsafePointer($0) }
        pointers.append(nil)
        return pointers.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { preconditionFailure("an array with an element is empty") }
            return body(start)
        }
    }
}

extension AuthProcess {
    /// Runs a command to its end.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - window: The window whose request this is.
    ///   - onEvent: Receives events meanwhile.
    ///   - done: Receives the last line of standard output, or the failure.
    /// - Returns: The process; `nil` if it could not be started, after `done` was called.
    @discardableResult
    static func run(
        _ command: AuthCommand,
        for window: Element?,
        onEvent: @escaping (AuthEvent) -> Void = { _ in },
        _ done: @escaping (Result<[UInt8], AuthFailure>) -> Void
    ) -> AuthProcess? {
        let outcome = CommandOutcome()
        var handlers = Handlers()
        handlers.output = { outcome.result = $0 }
        handlers.diagnostic = { line in
            guard let event = AuthEvent(line) else { return }
            if case .failure(let failure) = event { outcome.failure = failure }
            onEvent(event)
        }
        handlers.end = { status, lastLine in
            guard status != 0 else { return done(.success(outcome.result)) }
            done(.failure(outcome.failure ?? AuthFailure(status: status, lastLine: lastLine)))
        }
        do throws(AuthFailure) {
            return try AuthProcess(command, for: window, handlers)
        } catch {
            done(.failure(error))
            return nil
        }
    }
}

/// The outcome of a command that is run to its end.
private final class CommandOutcome {
    var result: [UInt8] = []
    var failure: AuthFailure?
}
