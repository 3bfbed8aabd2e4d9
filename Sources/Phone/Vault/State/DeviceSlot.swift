// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridTPM

/// The slot that the PIN opens on this device: protected by the device's secret alone, or by the TPM as well.
enum DeviceSlot {
    case pin(PINSlot)
    case tpm(TPMSlot)

    /// The vault and the device that the slot belongs to, and the cost of a guess.
    var header: DeviceSlotHeader {
        switch self {
        case .pin(let slot): slot.header
        case .tpm(let slot): slot.header
        }
    }

    /// Unwraps the vault key; slow by design.
    ///
    /// - Returns: The vault key; `nil` if the PIN is wrong.
    /// - Throws: ``VaultError`` if the PIN could not be tried.
    func unwrapKey(pin: PIN, device: Device, tpm: TPMAddress) throws(VaultError) -> SymmetricKey? {
        switch self {
        case .pin(let slot): try slot.unwrapKey(pin: pin, device: device)
        case .tpm(let slot): try slot.unwrapKey(pin: pin, device: device, tpm: tpm)
        }
    }
}

/// Protection of the PIN on this device.
package enum PINProtection: Hashable, Sendable {
    /// The device's secret, which anyone has who copies the local state (slot file `pin`).
    case deviceSecret
    /// The device's secret and the TPM, which counts wrong PINs (slot file `tpm`).
    case tpm
    /// Both slots exist, because a change was interrupted; the one without the TPM is used.
    case interrupted
}
