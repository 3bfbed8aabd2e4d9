// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridTPM

/// Paths of a vault and of the local state that this device keeps about it.
package struct VaultLocation: Sendable {
    /// Absolute path of the vault directory.
    package let directory: String
    /// Absolute path of this program's directory under `$XDG_STATE_HOME`.
    package let stateDirectory: String
    /// The TPM of this device, which is used only by a vault whose slot it protects.
    package let tpm: TPMAddress

    /// Clock for lockouts and timestamps; tests replace it.
    var clock = WallClock.realtime
    /// Cost of new slots of real vaults; tests set a lower one.
    var scrypt = Scrypt.standard

    /// Returns the cost of new slots of a vault, which is low for a test vault, because only a virtual radio opens it.
    func scrypt(of identity: VaultIdentity) -> Scrypt { identity.isTest ? .test : scrypt }

    /// Creates a location; relative paths start at the current directory.
    package init(directory: String, stateDirectory: String, tpm: TPMAddress = .standard) {
        self.directory = AbsolutePath.normalize(directory)
        self.stateDirectory = AbsolutePath.normalize(stateDirectory)
        self.tpm = tpm
    }
}
