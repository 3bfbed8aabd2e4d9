// SPDX-License-Identifier: Apache-2.0

/// The destination of an export: a new file in an existing directory outside the vault.
struct ExportDestination {
    private let path: String
    private let directory: Directory
    private let name: String

    /// Checks the path and opens its directory, before any key is read.
    ///
    /// A file that is created at this path later is not overwritten either.
    init(_ path: String, vault: Directory) throws(VaultError) {
        guard !path.isEmpty, path.utf8.last != UInt8(ascii: "/"),
            let (folder, name) = AbsolutePath.split(path)
        else { throw .exportNamesDirectory(path: path) }
        self.path = path
        self.name = name
        directory = try accessing(folder, orThrow: VaultError.cannotWriteExport) { () throws(FileError) in
            try Directory.open(path: folder)
        }
        guard !directory.containsDirectory(name) else { throw .exportNamesDirectory(path: path) }
        guard !directory.contains(name) else { throw .fileExists(path: path) }
        // A file sync tool would copy the keys to every device and server that has the vault.
        let (real, own) = (AbsolutePath.resolve(folder), AbsolutePath.resolve(vault.path))
        guard !"\(real)/".utf8.starts(with: "\(own)/".utf8) else { throw .exportIntoVault(path: path) }
    }

    /// Writes the file durably; returns false if other users can access it, because its drive keeps no permissions.
    func write(_ bytes: [UInt8]) throws(VaultError) -> Bool {
        do {
            try directory.writeUnnamed(name, bytes)
            return directory.isPrivate(name)
        } catch .exists {
            throw .fileExists(path: path)
        } catch {
            throw .cannotWriteExport("\(path): \(error.reason)")
        }
    }
}
