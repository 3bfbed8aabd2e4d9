// SPDX-License-Identifier: Apache-2.0

public import Glibc
internal import HybridThreads

/// A program started beside this one.
public struct ChildProcess: Sendable {
    /// How it ended.
    public enum Ending: Hashable, Sendable {
        /// By itself, with this status.
        case exited(CInt)
        /// By this signal.
        case killed(CInt)

        /// The status a shell would show: 128 and the signal's number if it was killed.
        public var shellStatus: CInt {
            switch self {
            case .exited(let status): status
            case .killed(let signal): 128 + signal
            }
        }
    }

    /// Why it could not be started.
    public struct SpawnError: Error, Hashable, Sendable {
        /// The system's error number, such as ENOENT.
        public let code: CInt

        /// The system's words for it.
        public var words: String { String(cString: strerror(code)) }
    }

    /// Its process ID.
    public let id: pid_t

    /// Starts `arguments[0]`, looked up in PATH.
    ///
    /// - Parameters:
    ///   - arguments: the program and its arguments, at least one.
    ///   - variables: set in its environment besides our own.
    ///   - output: descriptor that becomes its standard output, with an empty standard input and no further
    ///     descriptors; `nil` leaves it all of ours, as a user's command expects.
    ///   - errors: path of a file that takes its standard error; `nil` leaves it ours.
    ///   - ownGroup: whether it gets a process group of its own, out of the terminal's reach.
    public static func spawn(
        _ arguments: [String],
        variables: [String: String] = [:],
        output: CInt? = nil,
        errors: String? = nil,
        ownGroup: Bool = false
    ) throws(SpawnError) -> ChildProcess {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let output {
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        }
        if let errors {
            let flags = O_WRONLY | O_CREAT | O_TRUNC
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, flags, 0o600)
        }
        if output != nil {
            // A socket of this process would stay open as long as the child lives. Numbers not in use do no harm.
            for descriptor: CInt in 3..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads that run tasks block every signal, and a child would inherit that.
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let group = ownGroup ? CShort(POSIX_SPAWN_SETPGROUP) : 0
        posix_spawnattr_setflags(&attributes, CShort(POSIX_SPAWN_SETSIGMASK) | group)
        var process = pid_t()
        let code = withCStrings(arguments) { argv in
            withCStrings(environment(with: variables)) { envp in
                argv.first.flatMap { $0 }.map { posix_spawnp(&process, $0, &actions, &attributes, argv, envp) }
            }
        }
        guard code == 0 else { throw SpawnError(code: code ?? EINVAL) }
        return ChildProcess(id: process)
    }

    /// Waits until it has ended; to be called once.
    public func wait() async -> Ending {
        let id = id
        return await DedicatedThread.run {
            var status: CInt = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7F
            return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal)
        }
    }

    /// Sends it a signal.
    public func send(_ signal: CInt) {
        kill(id, signal)
    }

    private static func environment(with variables: [String: String]) -> [String] {
        var all: [String] = []
        var entry = environ
        while let text = entry.pointee {
            let line = String(cString: text)
            let name = line.split(separator: "=", maxSplits: 1).first.map(String.init) ?? ""
            if variables[name] == nil { all.append(line) }
            entry += 1
        }
        return all + variables.map { $0.key + "=" + $0.value }
    }

    private static func withCStrings<R>(_ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
        let pointers = texts.map { strdup($0) }
        defer {
            for pointer in pointers {
                free(pointer)
            }
        }
        return body(pointers + [nil])
    }
}
