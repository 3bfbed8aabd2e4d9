// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Opens an address in the user's browser: by the commands of `$BROWSER`, or by `xdg-open`.
///
/// No shell is involved, and nothing the browser prints gets into this program's outputs. It runs in a session of its
/// own, so that Ctrl-C here does not end it, and inherits none of our descriptors, so that it does not keep the page's
/// port.
public struct BrowserProgram: Sendable {
    /// Each command as words, in the order in which they are tried.
    let commands: [[String]]

    /// The commands of a value of `$BROWSER`, which are separated by colons.
    ///
    /// In each, `%s` stands for the address; a command without it gets the address as its last word. Without a value
    /// (or with an empty one) it is `xdg-open`.
    public init(variable: String?) {
        let commands = (variable ?? "").split(separator: ":")
            .map { $0.split(separator: " ").map(String.init) }
            .filter { !$0.isEmpty }
        self.commands = commands.isEmpty ? [["xdg-open"]] : commands
    }

    /// Starts one command after another until the page is opened.
    ///
    /// A command that ends with another status than 0 did not do it. One that is still running, or has ended with 0,
    /// is given the time that is left.
    ///
    /// - Parameters:
    ///   - limit: for all of them together.
    ///   - isOpened: asked again and again.
    /// - Throws: ``BrowserError``, `CancellationError`.
    public func open(
        _ address: String,
        within limit: Duration = .seconds(20),
        isOpened: @Sendable () -> Bool
    ) async throws {
        let end = ContinuousClock.now + limit
        var failure = BrowserError.notOpened
        for command in commands {
            let child: pid_t
            do throws(BrowserError) {
                child = try Self.start(Self.words(command, address))
            } catch {
                failure = error
                continue
            }
            switch try await Self.watch(child, until: end, isOpened) {
            case .opened: return
            case .failed(let status): failure = .failed(program: command[0], status: status)
            case .outOfTime: throw BrowserError.notOpened
            }
        }
        throw failure
    }

    static func words(_ command: [String], _ address: String) -> [String] {
        let filled = command.map { word in
            word.split(separator: "%s", omittingEmptySubsequences: false).joined(separator: address)
        }
        return filled == command ? command + [address] : filled
    }

    /// `POSIX_SPAWN_SETSID` of `spawn.h`, which is there for GNU's dialect of C only.
    private static let ownSession: Int16 = 0x80

    private enum AwaitableState {
        case opened
        case failed(status: Int32)
        case outOfTime
    }

    private static func watch(
        _ child: pid_t,
        until end: ContinuousClock.Instant,
        _ isOpened: @Sendable () -> Bool
    ) async throws -> AwaitableState {
        var isReaped = false
        while true {
            if isOpened() { return .opened }
            var word: Int32 = 0
            if !isReaped, waitpid(child, &word, WNOHANG) == child {
                isReaped = true
                let status = word & 0x7F == 0 ? (word >> 8) & 0xFF : 128 + (word & 0x7F)
                if status != 0 { return isOpened() ? .opened : .failed(status: status) }
            }
            guard ContinuousClock.now < end else { return .outOfTime }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func start(_ words: [String]) throws(BrowserError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        // A browser lives on when this program has ended, and what it holds stays open. Numbers not in use do no harm.
        for descriptor: Int32 in 3..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | Self.ownSession
        )
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        let code = posix_spawnp(&child, words[0], &actions, &attributes, &arguments, environ)
        guard code == 0 else { throw .notStarted(program: words[0], reason: String(cString: strerror(code))) }
        return child
    }
}

/// Why no browser shows the page.
public enum BrowserError: Error, Equatable, Sendable {
    /// The program can't be run.
    case notStarted(program: String, reason: String)
    /// It ended with a status that says it did not work.
    case failed(program: String, status: Int32)
    /// It seemed to work, but no browser has asked for the page.
    case notOpened

    /// The cause, without a full stop.
    public var sentence: String {
        switch self {
        case .notStarted(let program, let reason): "no browser could be opened (\(program): \(reason))"
        case .failed(let program, let status): "no browser could be opened (\(program) ended with status \(status))"
        case .notOpened: "no browser has opened the page"
        }
    }
}
