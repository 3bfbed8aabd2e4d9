// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridAuthenticator
internal import HybridPrimitives
internal import HybridThreads

/// A directory of sealed, never-modified files that holds passkeys; locked until the PIN is right.
///
/// Three parties meet here. The **person** knows a PIN. The **device** keeps a secret, the wrapped vault key and
/// its own memory of the vault in a local state directory that never leaves it. The **vault's directory** may be
/// carried by any file sync tool through any server, and that server is taken to be hostile: it may read, change,
/// swap, withhold or bring back every file.
///
/// 1. ``open(directory:stateDirectory:virtualRadio:)`` looks at the directory without any key: whose it is, who
///    may look into it, and that `vault.json` names a vault this device knows.
/// 2. ``unlock(with:)`` counts the attempt, stretches the PIN with scrypt, mixes in the device's secret and
///    unwraps the vault key. Then every record is opened: what is not genuine is ``VaultError/damaged(_:)``, what
///    is older than this device remembers is ``VaultError/rolledBack``. In both cases nothing is changed.
/// 3. ``UnlockedVault`` serves one request. A new revision is a new file; no file is ever written twice, so any
///    union of two copies of the directory is a valid vault: the highest revision of a record counts, and a
///    deletion always wins.
/// 4. ``UnlockedVault/lock()`` drops the key.
///
/// Elsewhere, or when the PIN is forgotten, a ``Passphrase`` or a ``RecoveryCode`` opens a slot in the vault's
/// directory, and ``join(directory:stateDirectory:secret:pin:)`` gives the vault a new PIN on that device.
/// ``UnlockedVault/rekey(pin:passphrase:recoveryCode:)`` replaces the vault key, a ``VaultBackup`` is the whole vault
/// in one file, and ``UnlockedVault/accept()`` is a person's word that what is there is what is wanted.
///
/// `docs/vault.md` describes every byte.
public final class Vault: CredentialStore, Sendable {
    let files: VaultFiles
    private let failure = FailureBox()

    /// Where the vault is.
    public var path: String { files.directory.path }
    /// Name of the vault: 32 hexadecimal digits.
    public var id: String { files.identity.name }
    /// Whether it was made under a virtual radio and opens only there.
    public var isTest: Bool { files.identity.test }
    /// What the last ``UnlockFailure/unusable(_:)`` or ``StoreFailure`` was about, for the exit code; `nil` since
    /// a PIN was judged.
    public var lastFailure: VaultError? { failure.value }

    init(files: VaultFiles) { self.files = files }

    /// Opens a vault's directory; no PIN is needed yet.
    ///
    /// - Parameters:
    ///   - directory: Where the vault is.
    ///   - stateDirectory: This program's directory under `$XDG_STATE_HOME`.
    ///   - virtualRadio: Whether the radio is one; a vault opens only under the kind it was made under.
    /// - Throws: ``VaultError``; ``VaultError/doesNotExist(path:)`` when the caller may create one.
    public static func open(
        directory: String,
        stateDirectory: String,
        virtualRadio: Bool
    ) throws(VaultError) -> Vault {
        try open(directory: directory, stateDirectory: stateDirectory, virtualRadio: virtualRadio, clock: .realtime)
    }

    static func open(
        directory: String,
        stateDirectory: String,
        virtualRadio: Bool,
        clock: WallClock
    ) throws(VaultError) -> Vault {
        let path = AbsolutePath.make(directory)
        let statePath = AbsolutePath.make(stateDirectory)
        let (opened, identity) = try VaultDirectory.open(path: path, stateDirectory: statePath)
        guard identity.test == virtualRadio else {
            throw identity.test ? .testVaultNeedsVirtualRadio : .realVaultRefusesVirtualRadio
        }
        let state = try LocalState(stateDirectory: statePath, identity: identity)
        _ = try state.pinSlot()
        // A vault that was moved is known at its new path from now on. A state directory that can't be written
        // stops the unlocking, with a better sentence than here.
        try? KnownPaths(stateDirectory: statePath).remember(identity, at: path)
        return Vault(files: VaultFiles(directory: opened, identity: identity, state: state, clock: clock))
    }

    /// Tries one PIN; slow by design.
    ///
    /// - Throws: ``UnlockFailure``; for ``UnlockFailure/unusable(_:)``, ``lastFailure`` tells more.
    public func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        try await open(with: pin)
    }

    /// Tries one PIN, as ``unlock(with:)``, for callers that do more with a vault than a credential store can.
    ///
    /// - Throws: ``UnlockFailure``.
    public func open(with pin: PIN) async throws(UnlockFailure) -> UnlockedVault {
        try await open { files throws(VaultError) in try files.unlock(with: pin) }
    }

    func open(
        _ unlock: @escaping @Sendable (VaultFiles) throws(VaultError) -> VaultFiles.Outcome
    ) async throws(UnlockFailure) -> UnlockedVault {
        let files = files
        failure.value = nil
        let outcome: VaultFiles.Outcome
        do {
            outcome = try await DedicatedThread.run { () throws(VaultError) in try unlock(files) }
        } catch {
            failure.value = error
            throw .unusable(error.sentence, underlying: error)
        }
        switch outcome {
        case .opened(let key, let notes, let isBackedUp):
            return UnlockedVault(
                files: files,
                key: key,
                notes: notes,
                failure: failure,
                isBackedUp: isBackedUp
            )
        case .wrongPIN(let attemptsLeft): throw .wrongPIN(attemptsLeft: attemptsLeft)
        case .lockedOut(let seconds): throw .lockedOut(seconds: seconds)
        }
    }
}

/// The last failure, shared by a vault and what it opened.
final class FailureBox: Sendable {
    private let storage = Locked<VaultError?>(nil)

    /// The last failure.
    var value: VaultError? {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}
