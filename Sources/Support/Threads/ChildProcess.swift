// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// A program started by this process.
///
/// The program is started without a shell and with no signal blocked. Threads that run tasks may block signals, and a
/// child would inherit their signal mask.
package final class ChildProcess: Sendable {
    /// The way in which a process ended.
    package enum Termination: Hashable, Sendable {
        /// The process exited with this status.
        case exited(CInt)
        /// This signal killed the process.
        case signaled(CInt)

        /// The status that a shell reports: 128 plus the signal's number for a killed process.
        package var shellStatus: CInt {
            switch self {
            case .exited(let status): status
            case .signaled(let signal): 128 + signal
            }
        }

        fileprivate init(waitStatus: CInt) {
            let signal = waitStatus & 0x7F
            self = signal == 0 ? .exited((waitStatus >> 8) & 0xFF) : .signaled(signal)
        }
    }

    /// The reason why a program was not started.
    package struct SpawnError: Error, Hashable, Sendable {
        /// The system's error number, such as `ENOENT`.
        package let code: CInt

        /// Creates an error.
        package init(code: CInt) { self.code = code }

        /// The system's text for the error number.
        package var reason: String { String(cString: strerror(code)) }

        /// The remedy if the program is to show codes.
        package var promptRemedy: String {
            code == EACCES
                ? "make it executable (chmod +x), or set HYBRID_PROMPT" : "install hybrid-prompt, or set HYBRID_PROMPT"
        }
    }

    /// The source or destination of one of the child's three standard streams.
    package enum Stream: Sendable {
        case inherited
        /// `/dev/null`.
        case null
        /// A duplicate of this descriptor.
        case descriptor(CInt)
        /// A file for output, created with mode 0600 or truncated.
        case file(String)
    }

    /// The kind of child, which decides what it inherits from this process.
    package enum Role: Sendable {
        /// A user's command, which inherits the process group, the ignored signals except SIGPIPE, and all descriptors
        /// that are not close-on-exec.
        case command
        /// A program in the same process group, with default signal actions and no descriptors above 2.
        ///
        /// A child that inherited a socket of this process would keep the connection open.
        case helper
        /// A helper that leads its own process group, so Ctrl-C at the terminal does not reach it.
        case service
        /// A helper that leads its own session, without a terminal, and may outlive this process.
        case detached
    }

    /// The process ID.
    ///
    /// Once the child has been reaped, its ID may belong to another process.
    package let id: pid_t
    private let termination = Locked<Termination?>(nil)

    private init(id: pid_t) { self.id = id }

    /// Starts `arguments[0]`, which is looked up in PATH unless it contains a slash.
    ///
    /// - Parameters:
    ///   - arguments: The program and its arguments, at least one.
    ///   - variables: Variables that replace or extend the environment of this process.
    ///   - input: The standard input.
    ///   - output: The standard output.
    ///   - error: The standard error.
    ///   - role: The kind of child, which decides what else it inherits.
    package static func spawn(
        _ arguments: [String],
        variables: [String: String] = [:],
        input: Stream = .inherited,
        output: Stream = .inherited,
        error: Stream = .inherited,
        role: Role = .helper
    ) throws(SpawnError) -> ChildProcess {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, error)] {
            switch stream {
            case .inherited: break
            case .null: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            case .file(let path):
                posix_spawn_file_actions_addopen(&actions, number, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            }
        }
        if role != .command {
            // glibc's addclosefrom_np is not visible to Swift. Closing a descriptor that is not open does no harm here.
            for descriptor: CInt in 3..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        set(&attributes, for: role)
        defer { posix_spawnattr_destroy(&attributes) }
        var id = pid_t()
        let code = withCStrings(arguments) { argv in
            withEnvironment(variables) { envp in
                argv.first.flatMap { $0 }.map { posix_spawnp(&id, $0, &actions, &attributes, argv, envp) }
            }
        }
        guard code == 0 else { throw SpawnError(code: code ?? EINVAL) }
        return ChildProcess(id: id)
    }

    /// Returns the way in which the process ended, or `nil` while it runs.
    package func poll() -> Termination? {
        termination.withLock { termination in
            if let termination { return termination }
            var status: CInt = 0
            let result = waitpid(id, &status, WNOHANG)
            // ECHILD: this process ignores SIGCHLD, so the kernel has reaped the child.
            guard result == id || (result < 0 && errno == ECHILD) else { return nil }
            termination = Termination(waitStatus: status)
            return termination
        }
    }

    /// Waits until the process ends, even if the calling task is canceled.
    package func wait() async -> Termination {
        await DedicatedThread.run { self.waitBlocking() }
    }

    /// Blocks the calling thread until the process ends.
    @discardableResult
    package func waitBlocking() -> Termination {
        while true {
            if let termination = poll() { return termination }
            // WNOWAIT leaves the process to `poll`, so that it is reaped under the lock.
            var info = siginfo_t()
            waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT)
        }
    }

    /// Blocks the calling thread until the process ends or `limit` has passed; in the latter case, returns `nil`.
    package func waitBlocking(atMost limit: Duration) -> Termination? {
        let deadline = ContinuousClock.now + limit
        while true {
            if let termination = poll() { return termination }
            guard ContinuousClock.now < deadline else { return nil }
            usleep(10000)
        }
    }

    /// Sends a signal unless the process has been reaped.
    package func send(_ signal: CInt) {
        termination.withLock { if $0 == nil { kill(id, signal) } }
    }

    /// The value of `POSIX_SPAWN_SETSID`, which `spawn.h` defines for GNU C only.
    private static let setSession: CShort = 0x80

    private static func set(_ attributes: inout posix_spawnattr_t, for role: Role) {
        var flags = CShort(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        // Every program of the project ignores SIGPIPE, which others do not expect.
        sigaddset(&signals, SIGPIPE)
        if role != .command {
            for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD, SIGALRM, SIGWINCH, SIGTSTP] {
                sigaddset(&signals, signal)
            }
        }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        if role == .service {
            posix_spawnattr_setpgroup(&attributes, 0)
            flags |= CShort(POSIX_SPAWN_SETPGROUP)
        }
        if role == .detached { flags |= setSession }
        posix_spawnattr_setflags(&attributes, flags)
    }

    /// Calls `body` with the environment of this process, in which `variables` are added or replaced.
    ///
    /// Inherited entries are passed on byte by byte, because they may not be UTF-8.
    private static func withEnvironment<R>(
        _ variables: [String: String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> R
    ) -> R {
        var inherited: [UnsafeMutablePointer<CChar>?] = []
        var entry = environ
        while let text = entry.pointee {
            let name = String(cString: text).prefix { $0 != "=" }
            if variables[String(name)] == nil { inherited.append(text) }
            entry += 1
        }
        return withCStrings(variables.map { $0.key + "=" + $0.value }) { body(inherited + $0) }
    }

    private static func withCStrings<R>(_ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
        let pointers = texts.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
