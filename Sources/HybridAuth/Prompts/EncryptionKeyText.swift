// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator

/// Texts of prompts about encryption keys, which are passkeys that exist for their secret only.
enum EncryptionKeyText {
    /// The question about one key to use.
    static let use = "Give the other device this key?"

    /// The consequence of a deletion that comes later, for a prompt about a new key.
    static let laterLoss = "Files that only it opens are lost if you delete it."
    /// The consequence of a deletion.
    static let loss = "Files that only it opens are lost."

    /// The end of account names, by which other phones show what the passkey is for.
    private static let suffix = " (encryption key)"

    /// Returns the question that asks for the PIN.
    static func question(_ operation: RequestedOperation) -> String {
        if case .create = operation { "Create an encryption key?" } else { use }
    }

    /// Returns the text of a notice.
    static func notice(_ notice: Notice) -> String {
        switch notice {
        case .noPasskey, .dataNotStated: "This device does not have the encryption key."
        case .alreadyRegistered: "This device already has this encryption key; you don't need another."
        }
    }

    /// Returns the name of a key, given the name of its account.
    static func name(_ account: String) -> String {
        account.hasSuffix(suffix) && account != suffix ? String(account.dropLast(suffix.count)) : account
    }
}
