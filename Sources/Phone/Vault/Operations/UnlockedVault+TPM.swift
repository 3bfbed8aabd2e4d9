// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator

extension UnlockedVault {
    /// Lets the TPM protect the PIN of this device, and deletes the slot that it did not protect.
    ///
    /// The new slot is opened once before anything is written. Copies of the old slot can still be guessed until
    /// ``rekey(pin:passphrase:recoveryCode:)``.
    ///
    /// - Parameter pin: The PIN of this device, which stays the same.
    /// - Throws: ``VaultError``; ``VaultError/tpmWouldBeOnlySlot`` if the vault has neither passphrase nor recovery code.
    package func enableTPM(pin: PIN) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            try files.checkPIN(pin, opens: key)
            guard try files.opensElsewhere(key) else { throw .tpmWouldBeOnlySlot }
            let scrypt = files.location.scrypt(of: files.identity)
            try files.replaceSlot(wrapping: key, pin: pin, scrypt: scrypt, usingTPM: true)
        }
    }

    /// Stops using the TPM: the PIN slot depends on the device's secret alone, as without a TPM.
    ///
    /// - Parameter pin: The PIN of this device, which stays the same.
    /// - Throws: ``VaultError``; then the TPM's slot is unchanged.
    package func disableTPM(pin: PIN) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            try files.checkPIN(pin, opens: key)
            let scrypt = files.location.scrypt(of: files.identity)
            try files.replaceSlot(wrapping: key, pin: pin, scrypt: scrypt, usingTPM: false)
        }
    }
}

extension VaultFiles {
    /// Replaces the slot of this device by a new one with a new sealed secret or a new salt.
    ///
    /// - Parameter usingTPM: True for a slot that the TPM protects; `nil` for the kind that is used now.
    func replaceSlot(
        wrapping key: SymmetricKey,
        pin: PIN,
        scrypt: Scrypt,
        usingTPM: Bool? = nil
    ) throws(VaultError) {
        let device = try state.device()
        if usingTPM ?? (state.protection == .tpm) {
            let slot = try TPMSlot(
                wrapping: key,
                pin: pin,
                identity: identity,
                device: device,
                scrypt: scrypt,
                tpm: location.tpm
            )
            try state.write(.tpm(slot))
        } else {
            let slot = try PINSlot(wrapping: key, pin: pin, identity: identity, device: device, scrypt: scrypt)
            try state.write(.pin(slot))
        }
    }

    /// Throws ``VaultError/wrongSecret`` if the PIN was changed since the vault was unlocked with it.
    fileprivate func checkPIN(_ pin: PIN, opens key: SymmetricKey) throws(VaultError) {
        try checkKeyIsCurrent(key)
        guard try state.slot().unwrapKey(pin: pin, device: state.device(), tpm: location.tpm) == key else {
            throw .wrongSecret
        }
    }

    /// Returns true if the vault has a passphrase or a recovery code for this key.
    func opensElsewhere(_ key: SymmetricKey) throws(VaultError) -> Bool {
        try !PortableSlots(in: directory, identity: identity).authentic(key).isEmpty
    }
}
