// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HybridCTAP
internal import HybridRelyingParty

/// A user's account.
struct Account: Sendable {
    /// Handle and names, as passkeys contain them.
    var user: UserEntity
    /// Hash of the password; `nil` if the account has none.
    var password: PasswordHash?
    /// Passkeys, the oldest first.
    var passkeys: [AccountPasskey] = []
    /// Number of wrong passwords since the last correct one.
    var wrongPasswords = 0
    /// Time before which no password is accepted.
    var blockedUntil: ContinuousClock.Instant?
}

/// A registered passkey with the properties that its user sees.
struct AccountPasskey: Sendable {
    /// Record for the verification of sign-ins.
    var record: CredentialRecord
    /// Name that the user can change.
    var name: String
    /// Time of the registration.
    let created: Date
    /// Time of the last sign-in.
    var lastUsed: Date?
}

/// A name that a user typed: 1 to 64 characters without control characters, without white space at its ends.
struct ShownName: Sendable {
    static let maximumLength = 64

    let text: String

    /// Creates a name; `nil` if the text is empty, too long, or contains control characters.
    init?(_ text: String) {
        let scalars = text.unicodeScalars.drop { $0.properties.isWhitespace }
        let kept = scalars.reversed().drop { $0.properties.isWhitespace }.reversed()
        let trimmed = String(String.UnicodeScalarView(kept))
        // Characters may consist of many scalars, so bytes are bounded, too.
        guard (1...Self.maximumLength).contains(trimmed.count), trimmed.utf8.count <= 4 * Self.maximumLength,
            trimmed.unicodeScalars.allSatisfy({ !Self.isHidden($0) })
        else { return nil }
        self.text = trimmed
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
        default: false
        }
    }
}

extension Collection<UInt8> {
    /// The bytes in base64url without padding (RFC 4648 §5).
    var base64URL: String {
        String(
            Data(self).base64EncodedString().compactMap { character -> Character? in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            }
        )
    }
}
