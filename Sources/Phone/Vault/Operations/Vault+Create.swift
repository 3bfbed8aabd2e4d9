// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator
internal import HybridThreads

extension Vault {
    /// Creates a vault in a directory that is missing or empty.
    ///
    /// The local state is complete before `vault.json` is written. A power failure therefore leaves either a vault that
    /// opens or no vault.
    ///
    /// - Parameters:
    ///   - location: Paths; a missing directory is created with mode 0700.
    ///   - pin: The new PIN, at least four characters long.
    ///   - isTest: True if the radio is virtual; the vault then opens only with a virtual radio.
    /// - Throws: ``VaultError``. After a failure, there is either no new vault or one that opens with the PIN.
    package static func create(at location: VaultLocation, pin: PIN, isTest: Bool) async throws(VaultError) -> Vault {
        try await create(at: location, pin: pin, isTest: isTest, key: SymmetricKey(size: .bits256))
    }

    static func create(
        at location: VaultLocation,
        pin: PIN,
        isTest: Bool,
        key: SymmetricKey
    ) async throws(VaultError) -> Vault {
        guard pin.isLongEnough else { throw .pinTooShort }
        return try await DedicatedThread.run { () throws(VaultError) in
            let (path, statePath) = (location.directory, location.stateDirectory)
            do throws(VaultError) {
                _ = try VaultDirectory.open(location)
                throw .alreadyExists(path: path)
            } catch .doesNotExist {
                // A new vault may be created here.
            }
            let directory = try VaultDirectory.make(path: path)
            let identity = VaultIdentity.random(isTest: isTest)
            let device = Device()
            let state = try LocalState(creatingIn: statePath, identity: identity, device: device)
            let scrypt = location.scrypt(of: identity)
            let slot = try PINSlot(wrapping: key, pin: pin, identity: identity, device: device, scrypt: scrypt)
            try state.write(SeenRevisions(), key: key)
            try state.remember(VaultKeyRing(key), slots: [])
            try state.write(.pin(slot))
            do throws(FileError) {
                try directory.write(VaultIdentity.fileName, Array(identity.text.utf8), replacing: false)
                _ = try directory.makeSubdirectory(VaultDirectory.recordsName)
                _ = try directory.makeSubdirectory(VaultDirectory.slotsName)
                try KnownPaths(stateDirectory: statePath).remember(identity, at: path)
            } catch .exists {
                throw .alreadyExists(path: path)
            } catch {
                throw .cannotWrite("\(path): \(error.reason)")
            }
            return Vault(files: VaultFiles(directory: directory, identity: identity, state: state, location: location))
        }
    }
}
