// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The running program; used by one thread only, which also buries it.
final class ChildProcess {
    /// Our end of its standard input and output.
    let descriptor: Int32
    private let identifier: pid_t
    private var isReaped = false
    /// How it ended, as `waitpid` says, once it is reaped.
    private var status: Int32 = 0

    /// Starts a program without a shell and with no further descriptor than its three.
    ///
    /// Its standard error goes nowhere, so that ours stays clean.
    init(program: String) throws(PinentryError) {
        guard let (ours, its) = SocketPair.make() else { throw .didNotStart(program) }
        defer { close(its) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, its, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, its, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        // Not every descriptor of ours closes itself: a prompt must not hold a connection that we have ended, nor be
        // able to speak on it. Numbers not in use do no harm.
        for descriptor: Int32 in 3..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var attributes = posix_spawnattr_t()
        Self.prepare(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
        defer { for argument in arguments { free(argument) } }
        var identifier = pid_t()
        let code = posix_spawn(&identifier, program, &actions, &attributes, &arguments, environ)
        guard code == 0 else {
            close(ours)
            throw code == ENOENT ? .notFound(program) : .didNotStart(program)
        }
        self.identifier = identifier
        self.descriptor = ours
    }

    deinit {
        close(descriptor)
        takeDown()
    }

    /// Whether it has ended by a signal that asks programs to end, as Ctrl-C sends to all programs of a terminal.
    ///
    /// For a program that has hung up: waits a moment for its end, which comes just after.
    var wasToldToEnd: Bool {
        guard waits(milliseconds: 500) else { return false }
        return [SIGINT, SIGHUP, SIGTERM].contains(status & 0x7F)
    }

    /// Waits for its end, and helps it along when it does not come within two seconds.
    func finish() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        if !waits(milliseconds: 2000) { takeDown() }
    }

    /// Ends it: politely at first, so that it can tidy up the screen, half a second later by force.
    func takeDown() {
        guard !isReaped else { return }
        kill(identifier, SIGTERM)
        if waits(milliseconds: 500) { return }
        kill(identifier, SIGKILL)
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        isReaped = true
    }

    /// Whether it ended in time; then it is reaped, and its identifier must not be used again.
    private func waits(milliseconds: Int) -> Bool {
        guard !isReaped else { return true }
        // waitpid has no time limit; this thread has nothing else to do.
        for _ in 0...(milliseconds / 10) {
            let result = waitpid(identifier, &status, WNOHANG)
            if result == identifier || (result < 0 && errno == ECHILD) {
                isReaped = true
                return true
            }
            usleep(10000)
        }
        return false
    }

    /// A program starts with no signal blocked or ignored, whatever its parent does with signals.
    private static func prepare(_ attributes: inout posix_spawnattr_t) {
        posix_spawnattr_init(&attributes)
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD, SIGALRM, SIGWINCH, SIGTSTP] {
            sigaddset(&signals, signal)
        }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
    }
}
