// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The vault key and the keys that it replaced.
struct KeyRing: Sendable {
    /// Maximum number of links between keys.
    private static let maximumLinks = 64

    /// All keys, the newest first.
    private(set) var keys: [SymmetricKey]
    /// True if another device replaced an older key with one that is not in the ring.
    private(set) var hasUnknownSuccessor = false
    /// Warnings about ignored files.
    private(set) var warnings: [VaultWarning] = []

    /// The newest key, under which new content is sealed.
    var newest: SymmetricKey { keys[0] }

    /// Creates the ring of a vault that was never rekeyed.
    init(_ key: SymmetricKey) { keys = [key] }

    /// Creates the ring of a key and its predecessors, which are linked in the vault's `keys/` directory.
    ///
    /// - Throws: ``VaultError/rekeyedElsewhere`` if the key itself has been replaced.
    init(_ key: SymmetricKey, in vault: Directory, identity: VaultIdentity) throws(VaultError) {
        keys = [key]
        var links = try readLinks(in: vault, identity: identity)
        var known: Set<KeyID> = [KeyID(of: key, identity: identity)]
        var reached = 0
        while reached < keys.count {
            let holder = KeyID(of: keys[reached], identity: identity)
            for link in links where link.new == holder && !known.contains(link.old) {
                // A forged link yields no key, or one with another ID.
                guard let old = link.open(with: keys[reached]), KeyID(of: old, identity: identity) == link.old else {
                    warnAboutForged(link)
                    continue
                }
                known.insert(link.old)
                keys.append(old)
            }
            reached += 1
        }
        links.removeAll { known.contains($0.new) }
        for link in links {
            guard let index = keys.firstIndex(where: { KeyID(of: $0, identity: identity) == link.old }) else {
                continue
            }
            guard link.isAuthentic(under: keys[index]) else {
                warnAboutForged(link)
                continue
            }
            guard index > 0 else { throw .rekeyedElsewhere }
            hasUnknownSuccessor = true
        }
    }

    private mutating func warnAboutForged(_ link: KeyLink) {
        let path = "\(VaultDirectory.keysName)/\(link.fileName)"
        warnings.append(VaultWarning(path: path, reason: "a link between keys that is not authentic"))
    }

    private mutating func readLinks(in vault: Directory, identity: VaultIdentity) throws(VaultError) -> [KeyLink] {
        let name = VaultDirectory.keysName
        let tooMany = "more than \(Self.maximumLinks) files in \(name); remove files that are not links"
        let length = KeyLink.length
        let files = try vault.files(in: name, limit: Self.maximumLinks, tooMany: tooMany, length: length, &warnings)
        return files.compactMap { file in
            if let link = KeyLink(bytes: file.bytes), link.identity == identity { return link }
            warnings.append(VaultWarning(path: "\(name)/\(file.name)", reason: "not a link between keys"))
            return nil
        }
    }
}

extension Directory {
    /// Returns the files of a vault's `slots/` or `keys/` directory; none if the directory is missing.
    ///
    /// A system error while reading a file is reported as damage. The file may be the link that replaces the current
    /// key, or the slot of a passphrase that would otherwise be reported as deleted. Any other unreadable file is
    /// ignored with a warning.
    func files(
        in name: String,
        limit: Int,
        tooMany: String,
        length: Int,
        _ warnings: inout [VaultWarning]
    ) throws(VaultError) -> [(name: String, bytes: [UInt8])] {
        let directory: Directory
        let names: [String]
        do {
            directory = try subdirectory(name)
            names = try directory.names(limit: limit)
        } catch .absent {
            return []
        } catch .tooLarge {
            throw .tooLarge(tooMany)
        } catch {
            throw .damaged("\(name): \(error.reason)")
        }
        var files: [(name: String, bytes: [UInt8])] = []
        for file in names where !file.hasPrefix(".") {
            let path = "\(name)/\(file)"
            let bytes = try readIfPossible(path, try directory.read(file, limit: length)) {
                warnings.append(VaultWarning(path: path, reason: $0.reason))
            }
            if let bytes { files.append((file, bytes)) }
        }
        return files
    }
}
