// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Names inside a vault directory, and the checks that need no key.
enum VaultDirectory {
    /// Directory of the records.
    static let recordsName = "records"
    /// Directory of the slots for passphrases and recovery codes.
    static let slotsName = "slots"
    /// Directory of the links between vault keys; missing in a vault that was never rekeyed.
    static let keysName = "keys"
    /// Directory of the usage histories; missing until the first use.
    static let usesName = "uses"
    /// Maximum number of names in the vault directory itself.
    private static let maximumNames = 1000

    /// Opens a vault directory and reads its identity.
    static func open(_ location: VaultLocation) throws(VaultError) -> (Directory, VaultIdentity) {
        let (path, stateDirectory) = (location.directory, location.stateDirectory)
        let known = KnownPaths(stateDirectory: stateDirectory).vault(at: path)
        let directory: Directory
        do {
            directory = try Directory.open(path: path)
        } catch {
            switch error {
            case .absent where known == nil && AbsolutePath.isDanglingLink(path):
                throw .cannotOpen("\(path): it is a link to a directory that does not exist")
            case .absent: throw known == nil ? .doesNotExist(path: path) : .missing(path: path)
            case .wrongKind: throw .notADirectory(path: path)
            default: throw .cannotOpen("\(path): \(error.reason)")
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

    /// Opens a directory for a new or restored vault; creates it with mode 0700 if it is missing.
    static func make(path: String) throws(VaultError) -> Directory {
        let directory = try accessing(path) { () throws(FileError) in try Directory.make(path: path) }
        try checkPermissions(of: directory)
        return directory
    }

    /// Throws an error if the directory belongs to another user or is accessible to other users.
    static func checkPermissions(of directory: Directory) throws(VaultError) {
        let status = try accessing(directory.path, orThrow: VaultError.cannotOpen) { () throws(FileError) in
            try directory.status()
        }
        guard status.isOurs else { throw .notOwned(path: directory.path) }
        guard status.mode & 0o077 == 0 else {
            throw .loosePermissions(path: directory.path, mode: status.mode, directory.foreignFileSystem)
        }
    }

    /// Returns the error for a directory without `vault.json`.
    private static func absence(in directory: Directory, path: String, known: Bool) throws(VaultError) -> VaultError {
        let names = try accessing(path, orThrow: VaultError.cannotOpen) { () throws(FileError) in
            // Temporary files of an interrupted creation do not count.
            try directory.names(limit: maximumNames).filter { !$0.hasPrefix(Directory.temporaryPrefix) }
        }
        let ours = [recordsName, slotsName, keysName, usesName]
        if names.contains(where: ours.contains) { return .incomplete(path: path) }
        if known { return .missing(path: path) }
        return names.isEmpty ? .doesNotExist(path: path) : .notAVault(path: path)
    }

    private static func identity(in directory: Directory) throws(VaultError) -> VaultIdentity {
        let name = VaultIdentity.fileName
        let bytes = try accessing("\(name) can't be read", orThrow: VaultError.damaged) { () throws(FileError) in
            try directory.read(name, limit: 4096)
        }
        return try VaultIdentity.read(bytes)
    }
}

/// A path inside a vault, limited to the names that this program writes, so that a backup cannot write elsewhere.
struct VaultPath {
    let folders: [String]
    let name: String

    /// Parses `records/<record>/<revision>`, `slots/<slot>`, `keys/<new>-<old>` or `uses/<device>/<segment>`.
    init?(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard let first = parts.first, let last = parts.last else { return nil }
        let isOurs =
            switch (first, parts.count) {
            case (VaultDirectory.recordsName, 3): RecordID(parts[1]) != nil && Revision.nameKind(last) == .proper
            case (VaultDirectory.slotsName, 2): Hex.decode(last, length: 16, lowercaseOnly: true) != nil
            case (VaultDirectory.keysName, 2):
                last.utf8.count == 65
                    && last.split(separator: "-", omittingEmptySubsequences: false)
                        .allSatisfy { Hex.decode($0, length: 16, lowercaseOnly: true) != nil }
            case (VaultDirectory.usesName, 3):
                Hex.decode(parts[1], length: 8, lowercaseOnly: true) != nil
                    && UInt32(last).map { "\($0)" == last } == true
            default: false
            }
        guard isOurs else { return nil }
        folders = Array(parts.dropLast())
        name = last
    }
}
