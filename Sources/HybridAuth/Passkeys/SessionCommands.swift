// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// The commands of `passkeys session` and their results, each an object in JSON.
struct SessionCommands: Sendable {
    let unlocked: UnlockedVaultContext
    let options: VaultOptions

    /// Returns the members of the result of a command, or of its error.
    ///
    /// - Throws: An error that is no failure of the command.
    func answer(_ line: [UInt8]) async throws -> [(String, JSONText)] {
        var number = JSONText.null
        do {
            let command: SessionCommand
            do throws(SessionCommand.Malformed) {
                command = try SessionCommand(line)
            } catch {
                number = error.number.map { .number(Int($0)) } ?? .null
                throw Self.malformed(error.reason)
            }
            number = .number(Int(command.number))
            return [("n", number)] + (try await result(of: command.action))
        } catch let error as any ExplainedFailure {
            return [("n", number), ("error", .object(CommandFailure(error).members.map { ($0.name, $0.value) }))]
        }
    }

    private func result(of action: SessionCommand.Action) async throws -> [(String, JSONText)] {
        let vault = unlocked.vault
        switch action {
        case .list(let withHidden):
            let all = try await vault.summaries()
            let shown = withHidden ? all : all.filter { !$0.isHidden }
            let history = try await PasskeyHistory(vault)
            return [
                ("passkeys", .array(shown.map { PasskeyJSON.row($0, history) })),
                ("hidden", .number(all.count - shown.count)),
            ]
        case .show(let name):
            return [("passkey", PasskeyJSON.details(try await chosen(name), try await PasskeyHistory(vault)))]
        case .history(let last):
            let uses = try await PasskeyHistory(vault).all.prefix(last ?? .max)
            return [("history", .array(uses.map(PasskeyJSON.use)))]
        case .rename(let passkey, let name, let displayName):
            if let problem = PasskeysRename.problem(name, displayName) { throw Self.malformed(problem) }
            return [("passkey", try await renamed(try await chosen(passkey), name, displayName))]
        case .manage(let name):
            guard let site = try await chosen(name).relyingParty else {
                throw CommandFailure("this version can't read that passkey; use a later version", status: .notPermitted)
            }
            return [("manage", .string(try await SitePageOptions.parse([]).managementPage(of: site)))]
        case .delete(let name):
            let passkey = try await chosen(name)
            try await confirmDeletion(of: passkey)
            try await vault.delete(passkey.record)
            return [("passkey", PasskeyJSON.summary(passkey))]
        }
    }

    private func chosen(_ name: String) async throws -> PasskeySummary {
        try PasskeyChoice.find(name, in: try await unlocked.vault.summaries())
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
