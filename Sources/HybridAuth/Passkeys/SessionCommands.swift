// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// The commands of `passkeys session` and their results, each an object in JSON.
struct SessionCommands: Sendable {
    let unlocked: UnlockedVaultContext
    let options: VaultOptions

    /// Maximum number of values in a command.
    private static let maximumValues = 32

    /// Returns the members of the result of a command, or of its error.
    ///
    /// - Throws: An error that is no failure of the command.
    func answer(_ line: [UInt8]) async throws -> [(String, JSONText)] {
        var number = JSONText.null
        do {
            let text: JSONText
            do throws(JSONSyntaxError) {
                text = try JSONText(parsing: line, maximumValues: Self.maximumValues)
            } catch {
                throw Self.malformed(error.reason)
            }
            let command = JSONCursor(text, named: "the command")
            number = .number(Int(try command.member("n").integer(UInt32.self)))
            return [("n", number)] + (try await result(of: command))
        } catch let error as JSONMemberError {
            return [
                ("n", number), ("error", .object(Self.malformed(error.reason).members.map { ($0.name, $0.value) })),
            ]
        } catch let error as any ExplainedFailure {
            return [("n", number), ("error", .object(CommandFailure(error).members.map { ($0.name, $0.value) }))]
        }
    }

    private func result(of command: JSONCursor) async throws -> [(String, JSONText)] {
        let vault = unlocked.vault
        switch try command.member("do").text {
        case "list":
            let all = try await vault.summaries()
            let shown = command.value.member("hidden")?.boolean == true ? all : all.filter { !$0.isHidden }
            let history = try await PasskeyHistory(vault)
            return [
                ("passkeys", .array(shown.map { PasskeyJSON.row($0, history) })),
                ("hidden", .number(all.count - shown.count)),
            ]
        case "show":
            let passkey = try await chosen(command)
            return [("passkey", PasskeyJSON.details(passkey, try await PasskeyHistory(vault)))]
        case "history":
            let last = try command.memberIfPresent("last")?.integer(UInt32.self)
            let uses = try await PasskeyHistory(vault).all.prefix(last.map { Int($0) } ?? .max)
            return [("history", .array(uses.map(PasskeyJSON.use)))]
        case "rename":
            let name = try command.member("name").text
            let displayName = try command.memberIfPresent("displayName")?.text
            if let problem = PasskeysRename.problem(name, displayName) { throw Self.malformed(problem) }
            return [("passkey", try await renamed(try await chosen(command), name, displayName))]
        case "delete":
            let passkey = try await chosen(command)
            try await confirmDeletion(of: passkey)
            try await vault.delete(passkey.record)
            return [("passkey", PasskeyJSON.summary(passkey))]
        default: throw Self.malformed("the command is none of list, show, history, rename and delete")
        }
    }

    private func chosen(_ command: JSONCursor) async throws -> PasskeySummary {
        try PasskeyChoice.find(try command.member("passkey").text, in: try await unlocked.vault.summaries())
    }

    private func renamed(_ passkey: PasskeySummary, _ name: String, _ displayName: String?) async throws -> JSONText {
        let renamed = try await PasskeysRename.rename(passkey, name, displayName, in: unlocked.vault)
        return PasskeyJSON.summary(renamed ?? passkey)
    }

    /// Asks for the PIN and for consent, because a deletion is permanent.
    private func confirmDeletion(of passkey: PasskeySummary) async throws {
        defer { unlocked.prompts.close() }
        let vault = try options.location.open()
        let (again, _) = try await unlocked.prompts.unlock(vault, to: .delete)
        await again.lock()
        try await unlocked.prompts.confirmDeletion(of: passkey)
    }

    private static func malformed(_ reason: String) -> CommandFailure {
        CommandFailure("\(reason); see docs/passkeys.md for the commands", code: "malformed", status: .dataError)
    }
}
