// SPDX-License-Identifier: Apache-2.0

/// Files in a vault directory with names that this program does not write.
///
/// Mostly a file sync made them. They are found by their names alone; nothing is opened or authenticated.
package struct SyncConflicts: Hashable, Sendable {
    /// Conflict copies, which are read like the originals.
    package private(set) var copies: [VaultWarning] = []
    /// Other files, which are ignored.
    package private(set) var ignored: [VaultWarning] = []

    /// Maximum number of files that are listed.
    static let maximumCount = 1000

    /// Searches a vault directory.
    init(in directory: Directory) { visit(directory, []) }

    private var isFull: Bool { copies.count + ignored.count >= Self.maximumCount }

    private mutating func visit(_ directory: Directory, _ folders: [String]) {
        // Directories that cannot be read are reported when the vault is opened.
        guard let (names, _) = try? directory.names(upTo: VaultRecords.maximumNames) else { return }
        // Names with a leading dot belong to sync tools or unfinished writes.
        for name in names where !name.hasPrefix(".") && !isFull {
            let parts = folders + [name]
            let path = parts.joined(separator: "/")
            if Self.isFolder(parts) {
                if let child = try? directory.subdirectory(name) {
                    visit(child, parts)
                } else {
                    ignored.append(VaultWarning(path: path, reason: "not a directory of this user"))
                }
            } else if Self.isCopy(parts) {
                copies.append(VaultWarning(path: path, reason: "a conflict copy"))
            } else if parts != [VaultIdentity.fileName], VaultPath(path) == nil {
                ignored.append(VaultWarning(path: path, reason: "not a file of this program"))
            }
        }
    }

    private static func isFolder(_ parts: [String]) -> Bool {
        switch (parts[0], parts.count) {
        case (VaultDirectory.recordsName, 1), (VaultDirectory.slotsName, 1), (VaultDirectory.keysName, 1),
            (VaultDirectory.usesName, 1):
            true
        case (VaultDirectory.recordsName, 2): RecordID(parts[1]) != nil
        case (VaultDirectory.usesName, 2): VaultPath("\(VaultDirectory.usesName)/\(parts[1])/0") != nil
        default: false
        }
    }

    /// Returns true if the name is that of a file of this program with a suffix.
    private static func isCopy(_ parts: [String]) -> Bool {
        guard let name = parts.last, VaultPath(parts.joined(separator: "/")) == nil else { return false }
        func begins(with length: Int) -> Bool {
            VaultPath((parts.dropLast() + [String(name.prefix(length))]).joined(separator: "/")) != nil
        }
        return switch (parts[0], parts.count) {
        case (VaultDirectory.recordsName, 3): Revision.nameKind(name) == .copy
        case (VaultDirectory.slotsName, 2): begins(with: 32)
        case (VaultDirectory.keysName, 2): begins(with: 65)
        case (VaultDirectory.usesName, 3): begins(with: name.prefix { $0.isNumber }.count)
        default: false
        }
    }
}

extension Vault {
    /// Returns the files that this program did not write, without opening the vault.
    ///
    /// - Throws: ``VaultError``.
    package static func syncConflicts(at location: VaultLocation) throws(VaultError) -> SyncConflicts {
        SyncConflicts(in: try VaultDirectory.open(location).0)
    }
}
