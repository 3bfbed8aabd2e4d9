// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads
internal import HybridVault

/// `passkeys session`: answers the commands of a program that shows the passkeys, after one PIN.
struct PasskeysSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Answer a program's commands after one PIN.",
        discussion: """
            Reads one JSON object per line from standard input, and writes one per line to standard output. Ends with \
            the input, after five minutes without a command, and when the computer suspends or locks its screen. \
            Only the list of passkeys and their history leave the vault.
            """
    )

    /// Time without a command after which the session ends.
    private static let idleLimit = Duration.seconds(300)

    @OptionGroup var options: VaultOptions

    @Flag(help: "JSON in both directions; required, because there is no other form.")
    var json = false

    func validate() throws {
        guard json else { throw ValidationError("A session is for programs; add --json.") }
    }

    func run() async throws {
        guard let input = SessionInput() else {
            throw CommandFailure("this process has no file descriptors left; close some", status: .unavailable)
        }
        try StandardOutput.requireOpen()
        try await options.runUnlocked(to: .session) { unlocked in
            unlocked.prompts.close()
            let count = try await unlocked.vault.summaries().count { !$0.isHidden }
            try Self.write([("ready", .number(1)), ("vault", .string(unlocked.path)), ("count", .number(count))])
            if let ending = try await serve(input, unlocked) { try Self.write([("end", .string(ending.rawValue))]) }
        }
    }

    /// A reason why a session ended before its input.
    private enum Ending: String {
        /// There was no command for some time.
        case idle
        /// The screen was locked, or the computer suspends.
        case locked
    }

    private enum Part: Sendable {
        case served(Ending?)
        case observed(isLocked: Bool)
    }

    /// Answers commands until the end; returns its reason, or `nil` if the input has ended.
    private func serve(_ input: SessionInput, _ unlocked: UnlockedVaultContext) async throws -> Ending? {
        try await withThrowingTaskGroup(of: Part.self) { group in
            group.addTask { .served(try await answer(input, unlocked)) }
            group.addTask {
                // Without logind, there is nothing to observe.
                let isLocked = try? await Logind.untilLockedOrSuspended()
                return .observed(isLocked: isLocked == true)
            }
            defer { group.cancelAll() }
            while let part = try await group.next() {
                switch part {
                case .served(let ending): return ending
                case .observed(isLocked: true): return .locked
                case .observed: break
                }
            }
            return nil
        }
    }

    private func answer(_ input: SessionInput, _ unlocked: UnlockedVaultContext) async throws -> Ending? {
        let commands = SessionCommands(unlocked: unlocked, options: options)
        while true {
            switch await input.next(within: Self.idleLimit) {
            case .line(let line): try Self.write(await commands.answer(line))
            case .tooLong: throw CommandFailure("a command is longer than 8 KiB; shorten it", status: .dataError)
            case .idle: return .idle
            case .ended: return nil
            }
        }
    }

    private static func write(_ members: [(String, JSONText)]) throws(CommandFailure) {
        try StandardOutput.writeLine(JSONText.object(members).description)
    }
}
