// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

/// The user's browser: the commands of `$BROWSER`, or `xdg-open`.
///
/// No shell is involved, and the browser's output is discarded. It runs in its own session, so that Ctrl-C does not
/// reach it, and inherits no descriptors, so that it does not keep the page's port open.
public struct BrowserProgram: Sendable {
    /// The commands as words, in the order of attempts.
    let commands: [[String]]

    /// Creates the commands from a value of `$BROWSER`, where colons separate them.
    ///
    /// `%s` stands for the address; without it, the address is appended. An absent or empty value means `xdg-open`.
    public init(variable: String?) {
        let commands = (variable ?? "").split(separator: ":")
            .map { $0.split(separator: " ").map(String.init) }
            .filter { !$0.isEmpty }
        self.commands = commands.isEmpty ? [["xdg-open"]] : commands
    }

    /// Starts one command after another until the page is opened.
    ///
    /// A command that exits with a status other than 0 has failed. One that is running, or has exited with 0, gets the
    /// remaining time.
    ///
    /// - Parameters:
    ///   - address: The page's address.
    ///   - limit: The time for all commands together.
    ///   - isOpened: Returns true once the page is opened; called repeatedly.
    /// - Throws: ``BrowserError``, `CancellationError`.
    public func open(
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

    /// Returns when the page is opened.
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

/// A reason for which no browser shows the page.
public struct BrowserError: Error, Hashable, Sendable {
    /// The cause, without a full stop.
    public let sentence: String

    /// The program could not be started.
    public static func notStarted(program: String, reason: String) -> BrowserError {
        BrowserError(sentence: "no browser could be opened (\(program): \(reason))")
    }

    /// The program exited with an error status.
    public static func failed(program: String, status: Int32) -> BrowserError {
        BrowserError(sentence: "no browser could be opened (\(program) ended with status \(status))")
    }

    /// No browser requested the page in time.
    public static let notOpened = BrowserError(sentence: "no browser has opened the page")
}
