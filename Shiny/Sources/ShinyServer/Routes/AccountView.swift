// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HybridCTAP
internal import HybridRelyingParty

/// The state of a session as the page receives it.
struct SessionView: Encodable {
    /// Relying party ID for `navigator.credentials` and signals.
    let rpId: String
    /// Account that is signed in.
    let account: AccountView?
    /// Display name of the account that was signed in before.
    let remembered: String?
}

/// An account as its user sees it; `userId` and the IDs of passkeys are what signals need.
struct AccountView: Encodable {
    struct PasskeyView: Encodable {
        let id: String
        let name: String
        /// Milliseconds since 1970.
        let created: Int
        let lastUsed: Int?
        let isBackedUp: Bool
    }

    let userId: String
    let name: String
    let displayName: String
    let hasPassword: Bool
    let passkeys: [PasskeyView]

    init(_ account: Account) {
        userId = account.user.id.bytes.base64URL
        name = account.user.name
        displayName = account.user.displayName
        hasPassword = account.password != nil
        passkeys = account.passkeys.map {
            PasskeyView(
                id: $0.record.id.bytes.base64URL,
                name: $0.name,
                created: $0.created.milliseconds,
                lastUsed: $0.lastUsed?.milliseconds,
                isBackedUp: $0.record.isBackedUp
            )
        }
    }
}

extension Date {
    fileprivate var milliseconds: Int { Int(timeIntervalSince1970 * 1000) }
}
