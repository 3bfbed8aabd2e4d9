// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridAuthenticator
internal import HybridPrimitives
internal import HybridThreads

extension Vault {
    /// Makes a vault in a directory that is missing or empty.
    ///
    /// The local state is complete before `vault.json` appears, so that a power cut leaves either a vault that
    /// opens or none.
    ///
    /// - Parameters:
    ///   - directory: Where; made with mode 0700 if it is missing.
    ///   - stateDirectory: This program's directory under `$XDG_STATE_HOME`.
    ///   - pin: The new PIN, at least four characters long.
    ///   - test: Whether the radio is a virtual one; the vault opens only under the same kind.
    /// - Throws: ``VaultError``; then no vault is there.
    public static func create(
        directory: String,
        stateDirectory: String,
        pin: PIN,
        test: Bool
    ) async throws(VaultError) -> Vault {
        try await create(
            directory: directory,
            stateDirectory: stateDirectory,
            pin: pin,
            test: test,
            scrypt: .standard,
            clock: .realtime
        )
    }

    static func create(
        directory: String,
        stateDirectory: String,
        pin: PIN,
        test: Bool,
        scrypt: Scrypt,
        clock: WallClock,
        key: SymmetricKey = SymmetricKey(size: .bits256)
    ) async throws(VaultError) -> Vault {
        guard pin.isLongEnough else { throw .pinTooShort }
        let files = try await DedicatedThread.run { () throws(VaultError) in
            try make(
                path: AbsolutePath.make(directory),
                statePath: AbsolutePath.make(stateDirectory),
                pin: pin,
                test: test,
                scrypt: scrypt,
                clock: clock,
                key: key
            )
        }
        return Vault(files: files)
    }

    private static func make(
        path: String,
        statePath: String,
        pin: PIN,
        test: Bool,
        scrypt: Scrypt,
        clock: WallClock,
        key: SymmetricKey
    ) throws(VaultError) -> VaultFiles {
        try checkAbsence(path: path, statePath: statePath)
        let directory = try makeDirectory(path)
        let identity = VaultIdentity.random(test: test)
        guard let device = Device.random() else { throw .damaged("the random source") }
        let state = try LocalState(creatingIn: statePath, identity: identity, device: device)
        let slot = try? PINSlot(wrapping: key, pin: pin, identity: identity, device: device, scrypt: scrypt)
        guard let slot else { throw .outOfMemory }
        try state.write(SeenRevisions(), key: key)
        try state.write(slot)
        do {
            try directory.write(VaultIdentity.fileName, Array(identity.text.utf8), replacing: false)
            _ = try directory.makeSubdirectory(VaultDirectory.recordsName)
            _ = try directory.makeSubdirectory(VaultDirectory.slotsName)
            try KnownPaths(stateDirectory: statePath).remember(identity, at: path)
        } catch .exists {
            throw .alreadyExists(path: path)
        } catch {
            throw .cannotWrite("\(path): \(error.words)")
        }
        return VaultFiles(directory: directory, identity: identity, state: state, clock: clock)
    }

    private static func checkAbsence(path: String, statePath: String) throws(VaultError) {
        do {
            _ = try VaultDirectory.open(path: path, stateDirectory: statePath)
        } catch .doesNotExist {
            return
        } catch {
            throw error
        }
        throw .alreadyExists(path: path)
    }

    private static func makeDirectory(_ path: String) throws(VaultError) -> Directory {
        let directory: Directory
        do {
            directory = try Directory.make(path: path)
        } catch {
            throw .cannotWrite("\(path): \(error.words)")
        }
        try VaultDirectory.checkPermissions(of: directory)
        return directory
    }
}
