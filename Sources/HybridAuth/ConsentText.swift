// SPDX-License-Identifier: Apache-2.0

internal import CTAP
internal import Pinentry

/// What stands below the RP ID when the person is asked about an account.
///
/// Each name out of a request has a line of its own with none of our words on it: letters that are written from right
/// to left turn the order of what shares their line, and a name that ends like our sentence would lengthen it.
enum ConsentText {
    /// The question for a new passkey, and the word on the button that agrees.
    static func creation(of account: UserEntity, replacing replaced: [UserEntity]) -> (text: String, ok: String) {
        guard let first = replaced.first else { return ("Save a passkey for this account?\n\(name(account))", "Save") }
        let what = replaced.count == 1 ? "the passkey" : "the \(replaced.count) passkeys"
        var text = "Replace \(what) of this account by a new one?\nThe old is deleted for ever."
        text += "\n\(name(first))"
        if !name(first).utf8.elementsEqual(name(account).utf8) { text += "\nThe new one is for\n\(name(account))" }
        return (text, "Replace")
    }

    /// The question which account to sign in with, `position` counted from 1.
    static func signIn(as account: UserEntity, _ position: Int, of count: Int) -> String {
        "Sign in as this account?\(count > 1 ? " (\(position) of \(count))" : "")\n\(name(account))"
    }

    private static func name(_ account: UserEntity) -> String {
        let name = account.name.isEmpty ? account.displayName : account.name
        return name.isEmpty ? "an account without a name" : "\(SafeText(quoting: name))"
    }
}
