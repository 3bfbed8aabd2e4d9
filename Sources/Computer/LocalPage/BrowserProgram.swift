// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridThreads

/// The user's browser: the commands of `$BROWSER`, or `xdg-open`.
///
/// Commands are run without a shell, and their output is discarded. The browser runs in its own session, so that Ctrl-C
/// does not end it. It inherits no descriptors, so that it does not keep the page's port open.
package struct BrowserProgram: Sendable {
    /// The commands, split into words, in the order in which they are tried.
    let commands: [[String]]

    /// Creates a browser from the value of `$BROWSER`, a list of commands separated by colons.
    ///
    /// In each command, the address replaces `%s`, or is appended if there is no `%s`. If the value is absent or empty,
    /// the command is `xdg-open`.
    package init(variable: String?) {
        let commands = (variable ?? "").split(separator: ":")
            .map { $0.split(separator: " ").map(String.init) }
            .filter { !$0.isEmpty }
        self.commands = commands.isEmpty ? [["xdg-open"]] : commands
    }

    /// Returns true if the program of a command exists and may be run.
    ///
    /// - Parameter searchPath: The value of `PATH`.
    package func isInstalled(searchPath: String?) -> Bool {
        let folders = (searchPath ?? "").split(separator: ":")
        return commands.contains { words in
            let name = words[0]
            let paths = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
            return paths.contains { access($0, X_OK) == 0 }
        }
    }

    /// Starts one command after another until the page is opened.
    ///
    /// A command that exits with a status other than 0 has failed, and the next one is tried. For a command that is
    /// running or has exited with 0, this method waits until the time limit.
    ///
    /// - Parameters:
    ///   - address: The page's address.
    ///   - limit: The time limit for all commands together.
    ///   - isOpened: A closure that returns true when the page has been opened; it is called repeatedly.
    /// - Throws: ``BrowserError``, `CancellationError`.
    package func open(
        _ address: String,
        within limit: Duration = .seconds(20),
        isOpened: @Sendable () -> Bool
    ) async throws {
        let end = ContinuousClock.now + limit
        var failure = BrowserError.notOpened
        for command in commands {
            do {
                let child = try Self.start(Self.words(command, address))
                return try await Self.watch(child, of: command, until: end, isOpened)
            } catch let error as BrowserError where error != .notOpened {
                failure = error
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

    /// Waits until the page is opened; throws if the command fails or the time limit is reached.
    private static func watch(
        _ child: ChildProcess,
        of command: [String],
        until end: ContinuousClock.Instant,
        _ isOpened: @Sendable () -> Bool
    ) async throws {
        while !isOpened() {
            if let status = child.poll()?.shellStatus, status != 0 {
                guard isOpened() else { throw BrowserError.failed(program: command[0], status: status) }
                return
            }
            guard ContinuousClock.now < end else { throw BrowserError.notOpened }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func start(_ words: [String]) throws(BrowserError) -> ChildProcess {
        do throws(ChildProcess.SpawnError) {
            return try .spawn(words, input: .null, output: .null, error: .null, role: .detached)
        } catch {
            throw .notStarted(program: words[0], reason: error.reason)
        }
    }
}

/// A reason why no browser shows the page.
package struct BrowserError: Error, Hashable, Sendable {
    /// The cause as a clause without a period.
    package let sentence: String

    /// The program could not be started.
    package static func notStarted(program: String, reason: String) -> BrowserError {
        BrowserError(sentence: "no browser could be opened (\(program): \(reason))")
    }

    /// The program exited with an error status.
    package static func failed(program: String, status: Int32) -> BrowserError {
        BrowserError(sentence: "no browser could be opened (\(program) ended with status \(status))")
    }

    /// No browser requested the page in time.
    package static let notOpened = BrowserError(sentence: "no browser has opened the page")
}
