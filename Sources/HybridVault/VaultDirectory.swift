// SPDX-License-Identifier: Apache-2.0

/// What is at the path of a vault, before any key is there.
enum VaultDirectory {
    /// Names of the directories in a vault.
    static let recordsName = "records"
    /// Where slots for passphrases and recovery codes are.
    static let slotsName = "slots"
    /// Where the links between vault keys are; missing in a vault that was never rekeyed.
    static let keysName = "keys"
    /// Where the histories of use are; missing until the first.
    static let usesName = "uses"
    /// More names than that in the vault's directory are refused.
    private static let maximumNames = 1000

    /// Opens the directory of a vault and reads what vault it is.
    static func open(path: String, stateDirectory: String) throws(VaultError) -> (Directory, VaultIdentity) {
        let known = KnownPaths(stateDirectory: stateDirectory).vault(at: path)
        let directory: Directory
        do {
            directory = try Directory.open(path: path)
        } catch {
            switch error {
            case .absent: throw known == nil ? .doesNotExist(path: path) : .wasHereButIsEmpty(path: path)
            case .wrongKind: throw .notADirectory(path: path)
            default: throw .cannotOpen("\(path): \(error.words)")
            }
        }
        guard directory.contains(VaultIdentity.fileName) else {
            throw try absence(in: directory, path: path, known: known != nil)
        }
        try checkPermissions(of: directory)
        let identity = try identity(in: directory)
        let hasState = (try? LocalState(stateDirectory: stateDirectory, identity: identity)) != nil
        if let known, known != identity.name, !hasState { throw .anotherVault(path: path) }
        return (directory, identity)
    }

    /// Refuses a directory that is not ours or that others may look into.
    static func checkPermissions(of directory: Directory) throws(VaultError) {
        let status: (isOurs: Bool, mode: UInt32)
        do {
            status = try directory.status()
        } catch {
            throw .cannotOpen("\(directory.path): \(error.words)")
        }
        guard status.isOurs else { throw .notOwned(path: directory.path) }
        guard status.mode & 0o077 == 0 else { throw .loosePermissions(path: directory.path, mode: status.mode) }
    }

    /// Which of the ways of having no `vault.json` this is.
    private static func absence(in directory: Directory, path: String, known: Bool) throws(VaultError) -> VaultError {
        let names: [String]
        do {
            // What a creation that was cut short left behind is nothing.
            names = try directory.names(limit: maximumNames).filter { !$0.hasPrefix(Directory.temporaryPrefix) }
        } catch {
            throw .cannotOpen("\(path): \(error.words)")
        }
        let ours = [recordsName, slotsName, keysName, usesName]
        if names.contains(where: ours.contains) { return .incomplete(path: path) }
        if known { return .wasHereButIsEmpty(path: path) }
        return names.isEmpty ? .doesNotExist(path: path) : .notAVault(path: path)
    }

    private static func identity(in directory: Directory) throws(VaultError) -> VaultIdentity {
        let bytes: [UInt8]
        do {
            bytes = try directory.read(VaultIdentity.fileName, limit: 4096)
        } catch {
            throw .damaged("\(VaultIdentity.fileName) can't be read: \(error.words)")
        }
        do {
            return try VaultIdentity.read(bytes)
        } catch {
            switch error {
            case .damaged: throw .damaged("\(VaultIdentity.fileName) is not what was written")
            case .otherFormat(let format): throw .unsupportedFormat(format)
            }
        }
    }
}
