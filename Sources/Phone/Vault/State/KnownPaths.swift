// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The vaults that this device has seen at each path, so that an unmounted disk is not mistaken for a first start.
///
/// Each path has a file `known/<first 32 hexadecimal digits of SHA-256(path)>`, which contains the vault ID in
/// hexadecimal, a line feed, and the path.
struct KnownPaths {
    /// Path of this program's state directory.
    let stateDirectory: String
    /// Maximum number of records that ``forget(_:)`` reads.
    private static let maximumRecords = 10_000

    /// Returns the vault ID (hexadecimal) last seen at a path, or at the target of its symbolic links.
    func vault(at path: String) -> String? {
        guard let directory = try? Directory.open(path: stateDirectory + "/known") else { return nil }
        for spelling in Self.spellings(of: path) {
            guard let record = Self.record(Self.fileName(spelling), in: directory), record.path == spelling else {
                continue
            }
            if Hex.decode(record.vault, length: 16, lowercaseOnly: true) != nil { return record.vault }
        }
        return nil
    }

    private static func record(_ name: String, in directory: Directory) -> (vault: String, path: String)? {
        guard let bytes = try? directory.read(name, limit: 8192), bytes.count > 33 else { return nil }
        return (String(decoding: bytes[..<32], as: UTF8.self), String(decoding: bytes[33...], as: UTF8.self))
    }

    /// Records a vault under every spelling of its path; unchanged entries are not written again.
    func remember(_ identity: VaultIdentity, at path: String) throws(FileError) {
        let directory = try Directory.make(path: stateDirectory).makeSubdirectory("known")
        for spelling in Self.spellings(of: path) {
            let content = Array((identity.name + "\n" + spelling).utf8)
            let name = Self.fileName(spelling)
            if (try? directory.read(name, limit: 8192)) != content {
                try directory.write(name, content, replacing: true)
            }
        }
    }

    /// Removes the records of a place, whatever links lead to it.
    func forget(_ path: String) throws(FileError) {
        let directory: Directory
        do {
            directory = try Directory.open(path: stateDirectory + "/known")
        } catch .absent {
            return
        }
        let place = AbsolutePath.resolve(path)
        let names = try directory.names(limit: Self.maximumRecords).filter { name in
            Self.record(name, in: directory).map { AbsolutePath.resolve($0.path) == place } ?? false
        }
        try directory.remove(names)
    }

    private static func spellings(of path: String) -> Set<String> {
        [AbsolutePath.normalize(path), AbsolutePath.resolve(path)]
    }

    private static func fileName(_ spelling: String) -> String {
        Hex.encode(Sealing.checksum(Array(spelling.utf8)).prefix(16))
    }
}
