// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator
internal import HybridThreads

/// Fingerprints in place of the PIN: the vault key leaves the vault for a service that holds it in memory.
///
/// Nothing on the disk opens the vault with a finger. The local state only records that the user allowed fingerprints, and
/// which fingers were enrolled then.
extension UnlockedVault {
    /// Vault ID: 32 hexadecimal digits.
    package nonisolated var id: String { files.identity.name }
    /// True for a test vault.
    package nonisolated var isTest: Bool { files.identity.isTest }

    /// Returns the key of the vault and the fingers for which the user allowed its use; `nil` if the user did not.
    ///
    /// - Throws: ``VaultError``; ``VaultError/damaged(_:)`` if the record of the fingers is not authentic.
    package func keyForFingerprint() async throws(VaultError) -> (key: StoreKey, fingers: [String])? {
        try await perform { key, files throws(VaultError) in
            guard let fingers = try files.state.enrolledFingers(try files.ring(key)) else { return nil }
            guard let key = key.withUnsafeBytes({ StoreKey(bytes: $0) }) else { throw .locked }
            return (key, fingers.names)
        }
    }

    /// Allows fingerprints in place of the PIN and records the fingers that are enrolled now.
    ///
    /// - Parameter fingers: The names, each of 1 to 255 bytes of UTF-8.
    /// - Throws: ``VaultError``; nothing is then changed.
    package func allowFingerprint(enrolled fingers: [String]) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            guard let fingers = EnrolledFingers(names: fingers) else { throw .cannotWrite("the names of the fingers") }
            try files.checkKeyIsCurrent(key)
            try files.state.write(fingers, key: key)
        }
    }
}

extension Vault {
    /// Unlocks the vault with a released key.
    package func unlock(with key: StoreKey) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        try await unlockVault(with: key)
    }

    /// True if the user allowed fingerprints in place of the PIN on this device.
    package var allowsFingerprint: Bool { files.state.allowsFingerprint }

    /// Forbids fingerprints in place of the PIN; no PIN is needed.
    ///
    /// - Throws: ``VaultError``.
    package func forbidFingerprint() throws(VaultError) {
        let state = files.state
        try state.withLock { () throws(VaultError) in try state.forgetEnrolledFingers() }
    }

    /// Unlocks the vault with the key that a service has released for this request.
    ///
    /// The records are checked as with the PIN. The PIN is needed to finish an interrupted rekey.
    ///
    /// - Throws: `UnlockFailure`; `UnlockFailure.keyReplaced` if the key is not the vault's current one.
    package func unlockVault(with key: StoreKey) async throws(UnlockFailure) -> UnlockedVault {
        let files = files
        let opened: UnlockedVault?
        do throws(VaultError) {
            opened = try await DedicatedThread.run { () throws(VaultError) in
                try files.tryKey(key.withUnsafeBytes { SymmetricKey(data: $0) })
            }
        } catch {
            throw .unusable(error.sentence, underlying: error)
        }
        guard let opened else { throw .keyReplaced }
        return opened
    }
}

extension VaultFiles {
    /// Verifies every record under a key that needs no unwrapping; returns `nil` if it is not the current key.
    func tryKey(_ key: SymmetricKey) throws(VaultError) -> UnlockedVault? {
        try state.withLock { () throws(VaultError) in
            // The seen revisions are sealed under the newest key, so a key that opens nothing is not damage.
            guard !state.isRekeying, (try? state.seen(VaultKeyRing(key))) != nil else { return nil }
            let records = try records(key: key)
            let isBackedUp = state.lastBackup(key)?.covers(records) ?? false
            let warnings = records.warnings + records.unusable
            return UnlockedVault(files: self, key: key, warnings: warnings, isBackedUp: isBackedUp)
        }
    }
}
