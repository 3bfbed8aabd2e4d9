// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Glibc

/// A child process of a test.
///
/// Waiting for it blocks no thread. The child inherits no descriptor. If it held a socket of another test, that socket
/// would stay open, and the other test would wait for its end forever. If it held the output of the tests and made that
/// non-blocking, as programs with an event loop do, the flag would hold for the tests, too, and lines of them would get lost.
package final class SpawnedProcess: @unchecked Sendable {
    // SAFETY of @unchecked: `status` is only accessed under `lock`.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var status: Int32?

    /// The process ID.
    package let identifier: pid_t

    /// A program that could not be started.
    package struct NotStarted: Error {
        /// The system's error number.
        package let errorNumber: Int32
    }

    /// The environment variables of this process.
    package static let environment = ProcessInfo.processInfo.environment

    /// Starts a program, found in PATH if its name has no slash, with files as input and outputs.
    package init(
        _ command: [String],
        environment: [String: String] = SpawnedProcess.environment,
        input: String = "/dev/null",
        output: String = "/dev/null",
        errors: String = "/dev/null"
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        // Closing a descriptor that is not open is harmless here.
        for descriptor: Int32 in 3..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of the task pool may block signals, and a child would inherit that.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // This process may ignore SIGPIPE, and a program must not depend on that.
        var broken = none
        sigaddset(&broken, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &broken)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + variables { free(word) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, command.first ?? "", &actions, &attributes, &words, &variables)
        guard code == 0 else { throw NotStarted(errorNumber: code) }
        identifier = child
        lock = .allocate(capacity: 1)
        lock.initialize(to: pthread_mutex_t())
        pthread_mutex_init(lock, nil)
    }

    deinit {
        if exitStatus == nil {
            kill(identifier, SIGKILL)
            var ignored: Int32 = 0
            waitpid(identifier, &ignored, 0)
        }
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// The exit status as a shell reports it (128 and the signal's number if the process was killed), or `nil` while it
    /// runs.
    package var exitStatus: Int32? {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        if let status { return status }
        var word: Int32 = 0
        guard waitpid(identifier, &word, WNOHANG) == identifier else { return nil }
        status = word & 0x7F == 0 ? (word >> 8) & 0xFF : 128 + (word & 0x7F)
        return status
    }

    /// Sends a signal unless the process has ended.
    package func send(_ signal: Int32) {
        if exitStatus == nil { kill(identifier, signal) }
    }

    /// Waits for the end and returns the exit status.
    package func end() async throws -> Int32 {
        while true {
            if let exitStatus { return exitStatus }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
