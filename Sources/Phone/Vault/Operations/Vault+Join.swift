// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator
internal import HybridThreads

extension Vault {
    /// Sets a new PIN on this device with the vault's passphrase or recovery code.
    ///
    /// Use it for a copied directory, a forgotten PIN, or a vault that another device has rekeyed. The record of
    /// revisions that this device has seen is kept, so a rollback is still detected.
    ///
    /// The PIN is not protected by a TPM afterwards, because the TPM may be the reason for the call.
    ///
    /// A key that is new to this device is used only after the user has compared its fingerprint with another device.
    /// A secret that this device knows from a replaced key opens no other key.
    ///
    /// - Parameters:
    ///   - location: Paths of the vault and of the local state.
    ///   - secret: A secret that opens a slot in the vault directory.
    ///   - pin: The new PIN, at least four characters long.
    ///   - compared: The fingerprint that the user has compared, from ``VaultError/keyNotCompared(_:isReplacement:)``.
    ///   - resettingRollbackState: True if the user agreed to replace an unreadable record of seen revisions. A
    ///     readable record is always kept.
    /// - Throws: ``VaultError``; ``VaultError/keyNotCompared(_:isReplacement:)``, ``VaultError/secretOfReplacedKey``,
    ///   ``VaultError/rollbackStateUnreadable(path:)``. The PIN is then unchanged; damaged local files may have been
    ///   replaced.
    package static func join(
        at location: VaultLocation,
        secret: PortableSecret,
        pin: PIN,
        comparedAs compared: VaultKeyFingerprint? = nil,
        resettingRollbackState: Bool = false
    ) async throws(VaultError) -> Vault {
        guard pin.isLongEnough else { throw .pinTooShort }
        return try await DedicatedThread.run { () throws(VaultError) in
            let (directory, identity) = try VaultDirectory.open(location)
            let slots = try PortableSlots(in: directory, identity: identity).all
            let (key, opened) = try slots.unwrapKey(with: secret)
            try LocalState.checkIsKnown(
                key,
                openedWith: secret,
                comparedAs: compared,
                isRestoring: false,
                at: location,
                identity: identity
            )
            let reset = resettingRollbackState
            return try join(
                directory,
                identity,
                location,
                key: key,
                opened: opened,
                slots: slots,
                pin: pin,
                resetting: reset
            )
        }
    }

    /// Sets a new PIN on this device with the vault key, which `opened` yielded and whose other slots are among
    /// `slots`.
    static func join(
        _ directory: Directory,
        _ identity: VaultIdentity,
        _ location: VaultLocation,
        key: SymmetricKey,
        opened: PortableSlot,
        slots: [PortableSlot],
        pin: PIN,
        resetting resettingRollbackState: Bool,
        isRestoring: Bool = false
    ) throws(VaultError) -> Vault {
        let statePath = location.stateDirectory
        let state = try LocalState(joining: statePath, identity: identity)
        let files = VaultFiles(directory: directory, identity: identity, state: state, location: location)
        try state.withLock { () throws(VaultError) in
            // The user may restore a key that was replaced. Otherwise a link is recorded: a server may withhold it
            // later.
            let ring = isRestoring ? try VaultKeyRing(key, in: directory, identity: identity) : try files.ring(key)
            if let seen = try? state.seen(ring) {
                // After a rekey on another device, this record is sealed under the previous key.
                try state.write(seen, key: key)
            } else {
                // The record may be damaged, or sealed under a key that is newer than that of a restored backup.
                guard resettingRollbackState || !state.hasSeenRevisions else {
                    throw .rollbackStateUnreadable(path: statePath + "/" + identity.name)
                }
                var seen = SeenRevisions()
                let records = try VaultRecords(in: directory, ring: ring, identity: identity, seen: seen)
                try records.check(against: &seen)
                try state.write(seen, key: key)
            }
            try state.remember(ring, own: [opened], slots: slots, isRestoring: isRestoring)
            let device = try state.deviceOrNew()
            let scrypt = location.scrypt(of: identity)
            let slot = try PINSlot(wrapping: key, pin: pin, identity: identity, device: device, scrypt: scrypt)
            try state.write(AttemptCounter())
            try state.write(.pin(slot))
        }
        try accessing(statePath) { () throws(FileError) in
            try KnownPaths(stateDirectory: statePath).remember(identity, at: directory.path)
        }
        return Vault(files: files)
    }
}
