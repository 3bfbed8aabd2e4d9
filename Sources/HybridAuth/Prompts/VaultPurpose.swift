// SPDX-License-Identifier: Apache-2.0

/// The purpose for which the PIN or another secret of a vault is asked for; the raw value is its name in questions.
enum VaultPurpose: String, CaseIterable, Sendable {
    case list, show, history, rename, delete, session, signal
    case importing = "import"
    case export
    case changePIN = "change-pin"
    case addPassphrase = "add-passphrase"
    case recoveryCode = "recovery-code"
    case tpm, finger, backup, restore, rekey, accept, join
    case give, receive
    case handOver = "hand-over"

    /// The sentence at the beginning of a prompt.
    var sentence: String {
        switch self {
        case .list: "List the passkeys of this vault"
        case .show: "Show a passkey of this vault"
        case .history: "Show the history of this vault"
        case .rename: "Rename a passkey of this vault"
        case .delete: "Delete a passkey of this vault"
        case .session: "Manage the passkeys of this vault"
        case .signal: "Apply what a website signals about its passkeys"
        case .importing: "Add the passkeys of a file to this vault"
        case .export: "Write all passkeys of this vault to a file, with their keys in the clear"
        case .changePIN: "Choose a new PIN for this vault"
        case .addPassphrase: "Add a passphrase to this vault"
        case .recoveryCode: "Make a recovery code for this vault"
        case .tpm: "Let the TPM protect the PIN of this vault"
        case .finger: "Allow fingerprints in place of the PIN"
        case .backup: "Write a backup of this vault"
        case .restore: "Restore this backup"
        case .rekey: "Give this vault a new key"
        case .accept: "Accept this vault as it is"
        case .join: "Open this vault on this device"
        case .give: "Give passkeys of this vault to another one"
        case .receive: "Add passkeys of another vault to this one"
        case .handOver: "Let another device become a device of this vault"
        }
    }
}
