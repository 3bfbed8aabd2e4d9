// SPDX-License-Identifier: Apache-2.0

package import HybridAge
package import HybridCommandSupport
internal import HybridPrimitives
package import HybridProgram

/// The keys that phones open: an identity file of age for each, in a folder of the user's configuration.
///
///     # This key "backup" opens with a phone. …
///     # public key: age1…
///     # passkey: secret-….invalid
///     AGE-PLUGIN-PHONE-1…
package struct SecretStore: Sendable {
    /// The end of each file's name.
    static let suffix = ".txt"
    /// Maximum length of a file in bytes, above that of the longest identity.
    private static let maximumLength = 256 * 1024

    private let folder: StateFolder

    /// Creates the store in a folder.
    package init(in folder: StateFolder) { self.folder = folder }

    /// Returns the path of the file of a key.
    package func path(of name: SecretName) -> String { folder.file(name.text + Self.suffix) }

    /// Returns the names of all keys in alphabetical order.
    package func names() throws(CommandFailure) -> [SecretName] {
        try folder.names(endingIn: Self.suffix).compactMap { SecretName(String($0.dropLast(Self.suffix.count))) }
    }

    /// Returns a key.
    ///
    /// - Throws: ``CommandFailure`` if there is none, or the file has no usable identity.
    package func key(_ name: SecretName) throws(CommandFailure) -> SealedKey {
        guard let bytes = try folder.read(name.text + Self.suffix, atMost: Self.maximumLength) else {
            throw CommandFailure(
                "there is no key \(name); list them: hybrid-key secret list",
                code: "no-secret",
                status: .noInput
            )
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            .filter { !$0.hasPrefix("#") && !$0.allSatisfy(\.isWhitespace) }
        do throws(AgeFormatError) {
            guard lines.count == 1, case .sealed(let key) = try PluginIdentity(parsing: lines[0]) else {
                throw .identity
            }
            return key
        } catch {
            throw CommandFailure(
                "\(path(of: name)): \(error); restore the file from a copy",
                code: "bad-secret-file",
                status: .dataError
            )
        }
    }

    /// The only key; `nil` if there is none, or more than one, or it can't be read.
    package var onlyKey: SealedKey? {
        guard let names = try? names(), names.count == 1 else { return nil }
        return try? key(names[0])
    }

    /// Checks that there is no key of this name, so that creating one loses nothing.
    package func checkFree(_ name: SecretName) throws(CommandFailure) {
        guard folder.stamp(of: name.text + Self.suffix) == nil else {
            throw CommandFailure(
                "there is a key \(name) already; choose another name",
                code: "secret-exists",
                status: .usage
            )
        }
    }

    /// Adds a new key.
    package func add(_ key: SealedKey, as name: SecretName) throws(CommandFailure) {
        try folder.whileLocked { () throws(CommandFailure) in
            try checkFree(name)
            try write(key, as: name)
        }
    }

    /// Replaces a key that has not changed since it was read.
    package func replace(_ old: SealedKey, with new: SealedKey, as name: SecretName) throws(CommandFailure) {
        try folder.whileLocked { () throws(CommandFailure) in
            guard try key(name) == old else {
                throw CommandFailure("another program has changed the key \(name); try again", status: .temporary)
            }
            try write(new, as: name)
        }
    }

    /// Removes a key; its passkeys stay on the phones.
    package func remove(_ name: SecretName) throws(CommandFailure) {
        try folder.whileLocked { () throws(CommandFailure) in try folder.remove(name.text + Self.suffix) }
    }

    private func write(_ key: SealedKey, as name: SecretName) throws(CommandFailure) {
        try folder.replace(name.text + Self.suffix, with: Array(Self.text(key).utf8))
    }

    /// Returns the contents of the file of a key.
    package static func text(_ key: SealedKey) -> String {
        """
        # The key \(SafeText(quoting: key.name.text)) opens with a phone. This file is not secret, but the phone is useless
        # without it: copy it next to your backups.
        # public key: \(key.recipient)
        # passkey: \(key.relyingPartyID)
        \(key.text)

        """
    }
}
