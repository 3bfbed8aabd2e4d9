// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The vault key and the keys that it replaced.
struct VaultKeyRing: Sendable {
    /// Maximum number of keys; more are of no use, and each is tried on every record.
    private static let maximumKeys = 65
    /// Maximum number of files that are read from the directory of links.
    ///
    /// If there are more, those that name the newest key come first.
    private static let maximumFiles = 1000

    /// All keys, the newest first.
    private(set) var keys: [SymmetricKey]
    /// IDs of keys that are not in the ring but replaced a key in it, and of keys that may have replaced those.
    ///
    /// They may belong to a device that rekeyed at the same time as this one.
    private(set) var successors: Set<VaultKeyID> = []
    /// Warnings about ignored files.
    private(set) var warnings: [VaultWarning] = []

    /// True if a key in the ring was replaced by one that is not.
    var hasUnknownSuccessor: Bool { !successors.isEmpty }
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
        var known: Set<VaultKeyID> = [VaultKeyID(of: key, identity: identity)]
        var reached = 0
        while reached < keys.count {
            let holder = VaultKeyID(of: keys[reached], identity: identity)
            for link in links
            where link.new == holder && !known.contains(link.old) && keys.count < Self.maximumKeys {
                // A forged link yields no key, or one with another ID.
                guard let old = link.open(with: keys[reached]), VaultKeyID(of: old, identity: identity) == link.old
                else {
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
            guard let index = keys.firstIndex(where: { VaultKeyID(of: $0, identity: identity) == link.old }) else {
                continue
            }
            guard link.isAuthentic(under: keys[index]) else {
                warnAboutForged(link)
                continue
            }
            guard index > 0 else { throw .rekeyedElsewhere }
            successors.insert(link.new)
            let path = "\(VaultDirectory.keysName)/\(link.fileName)"
            warnings.append(VaultWarning(path: path, reason: Self.unknownSuccessor))
        }
        // Only a holder of such a key can verify the next link.
        var count = 0
        while count < successors.count {
            count = successors.count
            for link in links where successors.contains(link.old) { successors.insert(link.new) }
        }
    }

    private static let unknownSuccessor =
        "another key also replaced an earlier key; if one of your devices did that, run hybrid-auth export "
        + "there, open the vault there with a secret from here, and run hybrid-auth import; otherwise others know a "
        + "secret of the vault"

    private mutating func warnAboutForged(_ link: KeyLink) {
        let path = "\(VaultDirectory.keysName)/\(link.fileName)"
        warnings.append(VaultWarning(path: path, reason: "a link between keys that is not authentic"))
    }

    private mutating func readLinks(in vault: Directory, identity: VaultIdentity) throws(VaultError) -> [KeyLink] {
        let name = VaultDirectory.keysName
        let own = Hex.encode(VaultKeyID(of: newest, identity: identity).bytes)
        let length = KeyLink.length
        let files = try vault.files(in: name, limit: Self.maximumFiles, length: length, &warnings) {
            $0.contains(own)
        }
        return files.compactMap { file in
            if let link = KeyLink(bytes: file.bytes), link.identity == identity { return link }
            warnings.append(VaultWarning(path: "\(name)/\(file.name)", reason: "not a link between keys"))
            return nil
        }
    }
}

extension Directory {
    /// Returns at most `limit` files of a vault's `slots/` or `keys/` directory; none if the directory is missing.
    ///
    /// If there are more, those with a preferred name come first, and a warning is added: by adding files, a server
    /// achieves no more than by withholding some.
    ///
    /// A system error while reading a file is reported as damage. The file may be the link that replaces the current
    /// key, or the slot of a passphrase that would otherwise be reported as deleted. Any other unreadable file is
    /// ignored with a warning.
    func files(
        in name: String,
        limit: Int,
        length: Int,
        _ warnings: inout [VaultWarning],
        preferring isPreferred: (String) -> Bool = { _ in false }
    ) throws(VaultError) -> [(name: String, bytes: [UInt8])] {
        let directory: Directory
        let (names, areAll): ([String], Bool)
        do {
            directory = try subdirectory(name)
            (names, areAll) = try directory.names(upTo: limit, preferring: isPreferred)
        } catch .absent {
            return []
        } catch {
            throw .damaged("\(name): \(error.reason)")
        }
        if !areAll { warnings.append(.excess(in: name, limit: limit)) }
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
