// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridTranslation
internal import HybridWidgets

/// The page of the vault: PIN, recovery code, protections, backup, import and export.
///
/// The helper asks for all secrets. This program passes paths only.
final class VaultPage {
    private let window: AppWindow
    private let tree: WidgetTree
    private var running: AuthProcess?
    private var isSettingSwitches = false
    /// Called after a command that may have changed the passkeys.
    var onChange: () -> Void = {}
    /// Called with the facts about the vault, or the failure to read them.
    var onStatus: (Result<VaultOverview, AuthFailure>) -> Void = { _ in }

    /// Creates the page in a window.
    init(in window: AppWindow, _ tree: WidgetTree) {
        (self.window, self.tree) = (window, tree)
        window.add(.vault, tree["vault"])
        window.actions.add("vault") { [unowned self] in open() }
        add("change-pin", .changePIN, tr("The PIN is changed"))
        add("forgotten-pin", .replaceForgottenPIN, tr("The PIN is changed"))
        add("recovery-code", .createRecoveryCode, tr("The recovery code works from now on"))
        window.actions.add("backup") { [unowned self] in
            window.chooseFile(tr("Back Up the Vault"), name: "passkeys.hybrid-backup") { [weak self] path in
                self?.run(.backUp(path: path)) { [weak self] line in
                    self?.window.inform(tr("The backup is written"), PasskeyFileResult(backupOutput: line).text)
                    return nil
                }
            }
        }
        window.actions.add("restore") { [unowned self] in
            window.chooseFile(tr("Choose a Backup")) { [weak self] path in
                self?.run(.restore(path: path)) { _ in tr("The backup is restored") }
            }
        }
        window.actions.add("import") { [unowned self] in
            window.chooseFile(tr("Choose an Export of Another Program")) { [weak self] path in
                self?.run(.importPasskeys(path: path)) { PasskeyFileResult(importOutput: $0).text }
            }
        }
        window.actions.add("export") { [unowned self] in
            window.chooseFile(tr("Export All Passkeys"), name: "passkeys.json") { [weak self] path in
                self?.run(.exportPasskeys(path: path)) { PasskeyFileResult(exportOutput: $0).text }
            }
        }
        for (row, command) in [
            ("tpm", { AuthCommand.useTPM($0) }), ("finger", { AuthCommand.useFingerprint($0) }),
        ] as [(String, (Bool) -> AuthCommand)] {
            tree[row].on("notify::active") { [unowned self] in
                if !isSettingSwitches { run(command(tree[row].flag("active"))) { _ in nil } }
            }
        }
    }

    /// Reads the facts about the vault.
    func reload() {
        AuthProcess.run(.vaultStatus, for: nil) { [weak self] result in
            guard let self else { return }
            switch result {
            case .failure(let failure): onStatus(.failure(failure))
            case .success(let line):
                guard let overview = VaultOverview(statusOutput: line) else { return onStatus(.failure(.ended)) }
                tree["recovery-row"].set("subtitle", overview.recoveryText)
                tree["backup-row"].set("subtitle", overview.backupText(window.clock))
                onStatus(.success(overview))
            }
        }
    }

    private func open() {
        window.open(.vault, title: tr("Vault"))
        reload()
        showSwitches()
    }

    private func showSwitches() {
        AuthProcess.run(.tpmStatus, for: nil) { [weak self] result in
            self?.show((try? result.get()).flatMap { ProtectionSwitch(tpmOutput: $0) }, in: "tpm")
        }
        AuthProcess.run(.fingerStatus, for: nil) { [weak self] result in
            self?.show((try? result.get()).flatMap { ProtectionSwitch(fingerOutput: $0) }, in: "finger")
        }
    }

    private func show(_ protection: ProtectionSwitch?, in row: String) {
        isSettingSwitches = true
        defer { isSettingSwitches = false }
        tree[row].set("active", protection?.isOn ?? false)
        tree[row].set("sensitive", protection?.isAvailable ?? false)
        tree[row].set("subtitle", protection?.text ?? "")
    }

    private func add(_ action: String, _ command: AuthCommand, _ success: String) {
        window.actions.add(action) { [unowned self] in run(command) { _ in success } }
    }

    /// Runs a command, which asks its questions itself; `success` returns the words for the last line of its output.
    private func run(_ command: AuthCommand, _ success: @escaping ([UInt8]) -> String?) {
        guard running == nil else { return window.toast(tr("Another request is in progress")) }
        running = AuthProcess.run(command, for: window.element) { [weak self] result in
            guard let self else { return }
            running = nil
            switch result {
            case .success(let line):
                if let words = success(line) { window.toast(words) }
                onChange()
            case .failure(let failure): window.report(failure)
            }
            reload()
            if window.isOnScreen(.vault) { showSwitches() }
        }
    }
}
