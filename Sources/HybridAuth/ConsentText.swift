// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPinentry

/// What stands below the RP ID when the person is asked about an account.
///
/// Each name out of a request has a line of its own with none of our words on it: letters that are written from right
/// to left turn the order of what shares their line, and a name that ends like our sentence would lengthen it.
enum ConsentText {
    /// As much of several names as surely fits a line of pinentry's protocol, with everything around them.
    private static let mostBytes = 400

    /// The question for a new passkey, and the word on the button that agrees.
    static func creation(of account: UserEntity, replacing replaced: [UserEntity]) -> (text: String, ok: String) {
        guard let first = replaced.first else { return ("Save a passkey for this account?\n\(name(account))", "Save") }
        let what = replaced.count == 1 ? "the passkey" : "the \(replaced.count) passkeys"
        let old = replaced.count == 1 ? "The old is" : "The old are"
        var text = "Replace \(what) of this account by a new one?\n\(old) deleted for ever."
        // Each that has another name than those before it.
        var named: [String] = []
        for name in replaced.map(name) where !named.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            named.append(name)
        }
        var (shown, bytes) = (0, name(account).utf8.count)
        for name in named {
            bytes += name.utf8.count
            guard shown == 0 || bytes <= mostBytes else { break }
            text += "\n\(name)"
            shown += 1
        }
        if named.count > shown { text += "\nand \(named.count - shown) more" }
        if named.count > 1 || !name(first).utf8.elementsEqual(name(account).utf8) {
            text += "\nThe new one is for\n\(name(account))"
        }
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
