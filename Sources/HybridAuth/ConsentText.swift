// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridPinentry

/// Texts that follow the RP ID in prompts about an account.
///
/// Each name from a request has a line of its own, without text of this program: right-to-left letters reorder their whole
/// line, and a name that resembles our sentence would extend it.
enum ConsentText {
    /// Maximum length of several names together, which with their surroundings fits a line of pinentry's protocol.
    private static let maximumBytes = 400

    /// Returns the question for a new passkey, and the label of the button that consents.
    static func creation(of account: UserEntity, replacing replaced: [UserEntity]) -> (text: String, ok: String) {
        guard let first = replaced.first else { return ("Save a passkey for this account?\n\(name(account))", "Save") }
        let what = replaced.count == 1 ? "the passkey" : "the \(replaced.count) passkeys"
        let old = replaced.count == 1 ? "The old one is" : "The old ones are"
        var text = "Replace \(what) of this account with a new one?\n\(old) deleted permanently."
        // Each different name once.
        var named: [String] = []
        for name in replaced.map(name) where !named.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            named.append(name)
        }
        var (shown, bytes) = (0, name(account).utf8.count)
        for name in named {
            bytes += name.utf8.count
            guard shown == 0 || bytes <= maximumBytes else { break }
            text += "\n\(name)"
            shown += 1
        }
        if named.count > shown { text += "\nand \(named.count - shown) more" }
        if named.count > 1 || !name(first).utf8.elementsEqual(name(account).utf8) {
            text += "\nThe new one is for\n\(name(account))"
        }
        return (text, "Replace")
    }

    /// Returns the question about one account to sign in with; `position` counts from 1.
    static func signIn(as account: UserEntity, _ position: Int, of count: Int) -> String {
        "Sign in as this account?\(count > 1 ? " (\(position) of \(count))" : "")\n\(name(account))"
    }

    private static func name(_ account: UserEntity) -> String {
        let name = account.name.isEmpty ? account.displayName : account.name
        return name.isEmpty ? "an account without a name" : "\(SafeText(quoting: name))"
    }
}

/// The age of a code, by its own timestamp.
///
/// An attacker may have created a code earlier and deceived the user into scanning it; such a code is old. Because clocks
/// differ, the age alone rejects nothing; the user is warned.
enum CodeAge {
    /// Age in seconds that no ordinary scan exceeds.
    static let usual: UInt64 = 120

    /// Returns the age as text.
    static func text(_ seconds: UInt64) -> String {
        switch seconds {
        case 0..<120: "\(seconds) seconds"
        case 120..<7200: "\(seconds / 60) minutes"
        case 7200..<172_800: "\(seconds / 3600) hours"
        default: "\(seconds / 86_400) days"
        }
    }

    /// Returns a warning about a code that is older than usual.
    static func warning(_ age: UInt64?) -> String? {
        guard let age, age > usual else { return nil }
        return "OLD CODE: it was made \(text(age)) ago. Go on only if you have just asked for it yourself."
    }
}
