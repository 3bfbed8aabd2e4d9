// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The vaults that this device has seen at each path, so that an unmounted disk is not mistaken for a first start.
///
/// Each path has a file `known/<first 32 hexadecimal digits of SHA-256(path)>`, which contains the vault ID in
/// hexadecimal, a line feed, and the path.
struct KnownPaths {
    /// Path of this program's state directory.
    let stateDirectory: String

    /// Returns the vault ID (hexadecimal) last seen at a path, or at the target of its symbolic links.
    func vault(at path: String) -> String? {
        guard let directory = try? Directory.open(path: stateDirectory + "/known") else { return nil }
        for spelling in Self.spellings(of: path) {
            guard let bytes = try? directory.read(Self.fileName(spelling), limit: 8192),
                bytes.count > 33, Array(bytes[33...]) == Array(spelling.utf8)
            else { continue }
            let name = String(decoding: bytes[..<32], as: UTF8.self)
            if Hex.decode(name, length: 16, lowercaseOnly: true) != nil { return name }
        }
        return nil
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

    /// Removes the records of a path, under every spelling.
    func forget(_ path: String) throws(FileError) {
        let directory: Directory
        do {
            directory = try Directory.open(path: stateDirectory + "/known")
        } catch .absent {
            return
        }
        try directory.remove(Self.spellings(of: path).map(Self.fileName))
    }

    private static func spellings(of path: String) -> Set<String> {
        Set([AbsolutePath.normalize(path), AbsolutePath.resolve(path)].compactMap(\.self))
    }

    private static func fileName(_ spelling: String) -> String {
        Hex.encode(Sealing.checksum(Array(spelling.utf8)).prefix(16))
    }
}
