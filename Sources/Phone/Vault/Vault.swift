// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator
internal import HybridThreads

/// An encrypted directory of passkeys that opens with a PIN.
///
/// The **user** knows the PIN. The **device** keeps a secret, the wrapped vault key and a record of the revisions that
/// it has seen. They are in a local state directory, which is never copied to other devices. The **vault directory**
/// may be copied by any file sync tool through any server. That server is assumed to be hostile: it may read, change,
/// swap, withhold or restore every file.
///
/// 1. ``open(at:virtualRadio:)`` checks the directory without a key: its owner, its permissions, and that `vault.json`
///    names a vault that this device knows.
/// 2. ``unlock(with:)-(PIN)`` counts the attempt, derives a key from the PIN (with scrypt) and the device's secret, and
///    unwraps the vault key. It then opens every record. A file that is not authentic is set aside with a warning,
///    unless this device has seen its revision, which causes ``VaultError/damaged(_:)``. A record that is older than
///    this device has seen causes ``VaultError/rolledBack``. In both cases nothing is changed.
/// 3. ``UnlockedVault`` serves one request. Each revision of a record is a new file, which is never modified. The union
///    of two copies of the directory is therefore a valid vault. The highest revision of a record is current, but a
///    deletion always wins.
/// 4. ``UnlockedVault/lock()`` discards the key.
///
/// On another device, or if the PIN is forgotten, a ``Passphrase`` or a ``RecoveryCode`` opens a slot in the vault
/// directory. ``join(at:secret:pin:comparedAs:resettingRollbackState:)`` then sets a new PIN on that device.
/// ``UnlockedVault/rekey(pin:passphrase:recoveryCode:)`` replaces the vault key. A ``VaultBackup`` is the whole vault
/// in one file. With ``UnlockedVault/accept(expecting:)``, the user confirms that the current state is intended.
///
/// `docs/vault.md` describes the file format in full.
package final class Vault: CredentialStore, Sendable {
    let files: VaultFiles

    /// Path of the vault directory.
    package var path: String { files.directory.path }
    /// Vault ID: 32 hexadecimal digits.
    package var id: String { files.identity.name }
    /// True for a test vault, which was created with a virtual radio and opens only with one.
    package var isTest: Bool { files.identity.isTest }

    init(files: VaultFiles) { self.files = files }

    /// Opens a vault directory; no PIN is needed yet.
    ///
    /// - Parameters:
    ///   - location: Paths of the vault and of the local state.
    ///   - virtualRadio: True if the radio is virtual. A vault opens only with the kind of radio it was created with.
    /// - Throws: ``VaultError``; after ``VaultError/doesNotExist(path:)`` the caller may create a vault.
    package static func open(at location: VaultLocation, virtualRadio: Bool) throws(VaultError) -> Vault {
        let (directory, identity) = try VaultDirectory.open(location)
        guard identity.isTest == virtualRadio else {
            throw identity.isTest ? .testVaultNeedsVirtualRadio : .realVaultRefusesVirtualRadio
        }
        let state = try LocalState(stateDirectory: location.stateDirectory, identity: identity)
        _ = try state.slot()
        // Records the path of a moved vault. If the state directory cannot be written, unlocking fails later with a
        // better message.
        try? KnownPaths(stateDirectory: location.stateDirectory).remember(identity, at: location.directory)
        return Vault(files: VaultFiles(directory: directory, identity: identity, state: state, location: location))
    }

    /// Unlocks the vault if the PIN is correct; slow by design.
    ///
    /// - Throws: `UnlockFailure`, with a ``VaultError`` as underlying error if the vault cannot be used.
    package func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        try await unlockVault(with: pin)
    }

    /// Unlocks the vault like ``unlock(with:)-(PIN)``, for callers that need more than a credential store.
    ///
    /// - Parameters:
    ///   - pin: The PIN.
    ///   - checkingRecords: False to open the vault without checking its records, so that the user can
    ///     ``UnlockedVault/accept(expecting:)`` them.
    /// - Throws: `UnlockFailure`.
    package func unlockVault(with pin: PIN, checkingRecords: Bool = true) async throws(UnlockFailure) -> UnlockedVault {
        let files = files
        let result: Result<UnlockedVault, UnlockFailure>
        do {
            result = try await DedicatedThread.run { () throws(VaultError) in
                try files.tryPIN(pin, checkingRecords: checkingRecords)
            }
        } catch {
            throw .unusable(error.sentence, underlying: error)
        }
        return try result.get()
    }
}
