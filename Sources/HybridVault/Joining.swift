// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridAuthenticator
internal import HybridPrimitives
internal import HybridThreads

extension Vault {
    /// Gives a vault a new PIN on this device, by its passphrase or recovery code: a copied directory, a forgotten
    /// PIN, or a vault that another device has rekeyed.
    ///
    /// What this device remembers of the vault stays, so a rollback is still noticed.
    ///
    /// - Parameters:
    ///   - directory: Where the vault is.
    ///   - stateDirectory: This program's directory under `$XDG_STATE_HOME`.
    ///   - secret: What opens a slot in the vault's directory.
    ///   - pin: The new PIN, at least four characters long.
    ///   - forgettingSeen: Whether a memory of the vault that can't be read is replaced by what is there, because a
    ///     person says so. One that can be read stays in any case.
    /// - Throws: ``VaultError``; ``VaultError/memoryUnreadable(path:)``. The PIN is what it was then; local files that
    ///   were damaged may have been made anew.
    public static func join(
        directory: String,
        stateDirectory: String,
        secret: PortableSecret,
        pin: PIN,
        forgettingSeen: Bool = false
    ) async throws(VaultError) -> Vault {
        try await join(
            directory: directory,
            stateDirectory: stateDirectory,
            secret: secret,
            pin: pin,
            forgettingSeen: forgettingSeen,
            scrypt: .standard,
            clock: .realtime
        )
    }

    static func join(
        directory: String,
        stateDirectory: String,
        secret: PortableSecret,
        pin: PIN,
        forgettingSeen: Bool = false,
        scrypt: Scrypt,
        clock: WallClock
    ) async throws(VaultError) -> Vault {
        guard pin.isLongEnough else { throw .pinTooShort }
        let files = try await DedicatedThread.run { () throws(VaultError) in
            let path = AbsolutePath.make(directory)
            let statePath = AbsolutePath.make(stateDirectory)
            let (opened, identity) = try VaultDirectory.open(path: path, stateDirectory: statePath)
            let key = try Slots(in: opened, identity: identity).open(with: secret)
            return try join(
                opened,
                identity,
                statePath: statePath,
                key: key,
                pin: pin,
                forgettingSeen: forgettingSeen,
                scrypt: scrypt,
                clock: clock
            )
        }
        return Vault(files: files)
    }

    /// The same with the vault key at hand.
    static func join(
        _ directory: Directory,
        _ identity: VaultIdentity,
        statePath: String,
        key: SymmetricKey,
        pin: PIN,
        forgettingSeen: Bool,
        scrypt: Scrypt,
        clock: WallClock
    ) throws(VaultError) -> VaultFiles {
        let ring = try KeyRing(key, in: directory, identity: identity)
        let state = try LocalState(joining: statePath, identity: identity)
        try state.locked { () throws(VaultError) in
            if let seen = try? state.seen(ring) {
                // After a rekeying elsewhere it is sealed under the key before.
                try state.write(seen, key: key)
            } else {
                // It may be damaged, or under a key that came after that of a backup.
                guard forgettingSeen || !state.hasSeen else {
                    throw .memoryUnreadable(path: statePath + "/" + identity.name)
                }
                var seen = SeenRevisions()
                let records = try Records(in: directory, ring: ring, identity: identity)
                try records.check(against: &seen)
                try state.write(seen, key: key)
            }
            let device = try state.deviceOrNew()
            let slot = try? PINSlot(wrapping: key, pin: pin, identity: identity, device: device, scrypt: scrypt)
            guard let slot else { throw .outOfMemory }
            try state.write(AttemptCounter())
            try state.write(slot)
        }
        do {
            try KnownPaths(stateDirectory: statePath).remember(identity, at: directory.path)
        } catch {
            throw .cannotWrite("\(statePath): \(error.words)")
        }
        return VaultFiles(directory: directory, identity: identity, state: state, clock: clock)
    }
}

extension UnlockedVault {
    /// Adds a passphrase; the vault then opens with it wherever its directory is copied to.
    ///
    /// - Parameter replacing: Whether the passphrases before are deleted. Old copies of the directory still open
    ///   with them; only ``rekey(pin:passphrase:recoveryCode:)`` keeps what comes later from who knows them.
    /// - Throws: ``VaultError``; ``VaultError/passphraseTooWeak(bits:)``.
    public func addPassphrase(_ passphrase: Passphrase, replacing: Bool) async throws(VaultError) {
        try await addPassphrase(passphrase, replacing: replacing, scrypt: .standard)
    }

    func addPassphrase(_ passphrase: Passphrase, replacing: Bool, scrypt: Scrypt) async throws(VaultError) {
        guard passphrase.isStrongEnough else { throw .passphraseTooWeak(bits: passphrase.strength) }
        try await addSlot(.passphrase(passphrase), replacing: replacing, scrypt: scrypt)
    }

    /// Adds a recovery code.
    ///
    /// - Parameter replacing: Whether the codes before are deleted, as with
    ///   ``addPassphrase(_:replacing:)``.
    /// - Throws: ``VaultError``.
    public func addRecoveryCode(_ code: RecoveryCode, replacing: Bool) async throws(VaultError) {
        try await addSlot(.recoveryCode(code), replacing: replacing, scrypt: .standard)
    }

    func addSlot(_ secret: PortableSecret, replacing: Bool, scrypt: Scrypt) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            try files.addSlot(secret, key: key, replacing: replacing, scrypt: scrypt)
        }
    }

    /// How many passphrases and recovery codes really open the vault.
    ///
    /// - Throws: ``VaultError``.
    public func portableSlots() async throws(VaultError) -> (passphrases: Int, recoveryCodes: Int) {
        try await perform { key, files throws(VaultError) in
            let slots = try Slots(in: files.directory, identity: files.identity)
            return (slots.genuine(.passphrase, key).count, slots.genuine(.recoveryCode, key).count)
        }
    }
}

extension VaultFiles {
    /// Adds a slot, then deletes those of its kind that it replaces.
    func addSlot(
        _ secret: PortableSecret,
        key: SymmetricKey,
        replacing: Bool,
        scrypt: Scrypt
    ) throws(VaultError) {
        try state.locked { () throws(VaultError) in
            try checkCounts(key)
            let before = try Slots(in: directory, identity: identity)
            let replaced = replacing ? before.all.filter { $0.kind == secret.kind } : []
            guard before.all.count - replaced.count < Slots.maximumCount else {
                throw .tooLarge("it has \(Slots.maximumCount) slots; replace some, or delete files in slots/")
            }
            let slot = try? PortableSlot(wrapping: key, secret: secret, identity: identity, scrypt: scrypt)
            guard let slot else { throw .outOfMemory }
            try Slots.write(slot, in: directory)
            try before.delete(replaced, in: directory)
        }
    }
}
