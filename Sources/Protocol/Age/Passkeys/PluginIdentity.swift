// SPDX-License-Identifier: Apache-2.0

/// An identity that an age client hands to the plug-in; its prefix decides the kind.
package enum PluginIdentity: Hashable, Sendable {
    /// A passkey, to which files are encrypted directly.
    case passkey(PasskeyIdentity)
    /// A key of age that a phone opens.
    case sealed(SealedKey)
    /// `AGE-PLUGIN-PHONE-1…` without data: the only key of this user.
    case onlyKey

    /// Creates an identity from its text in upper or lower case.
    ///
    /// - Throws: ``AgeFormatError``.
    package init(parsing text: some StringProtocol) throws(AgeFormatError) {
        guard let (prefix, data) = Bech32.decode(text.utf8) else { throw .identity }
        switch prefix {
        case PasskeyIdentity.prefix: self = .passkey(try PasskeyIdentity(data: data))
        case SealedKey.prefix where data.isEmpty: self = .onlyKey
        case SealedKey.prefix: self = .sealed(try SealedKey(data: data))
        default: throw .identity
        }
    }
}
