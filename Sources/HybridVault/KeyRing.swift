// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The vault key, and those that it replaced.
struct KeyRing: Sendable {
    /// More links than that are refused.
    private static let maximumLinks = 64

    /// All keys; what is written is sealed under the first, the newest.
    private(set) var keys: [SymmetricKey]
    /// Whether another device replaced one of the older keys by a key that is not here.
    private(set) var hasStrangers = false
    /// What was left alone.
    private(set) var notes: [VaultNote] = []

    /// What is written is sealed under it.
    var newest: SymmetricKey { keys[0] }

    /// The ring of a vault that was never rekeyed.
    init(_ key: SymmetricKey) { keys = [key] }

    /// Follows the links in a vault's `keys/` from a key to those before it.
    ///
    /// - Throws: ``VaultError/rekeyedElsewhere`` when the key itself has been replaced.
    init(_ key: SymmetricKey, in vault: Directory, identity: VaultIdentity) throws(VaultError) {
        keys = [key]
        var links = try Self.links(in: vault, identity: identity, notes: &notes)
        var known: Set<KeyID> = [KeyID(of: key, identity: identity)]
        var reached = 0
        while reached < keys.count {
            let holder = KeyID(of: keys[reached], identity: identity)
            for link in links where link.new == holder && !known.contains(link.old) {
                // A forged link gives a key of another name, or none.
                guard let old = link.open(with: keys[reached]), KeyID(of: old, identity: identity) == link.old else {
                    notes.append(VaultNote(path: "\(VaultDirectory.keysName)/\(link.fileName)", reason: Self.forged))
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
            guard link.isAnnounced(by: keys[index]) else {
                notes.append(VaultNote(path: "\(VaultDirectory.keysName)/\(link.fileName)", reason: Self.forged))
                continue
            }
            guard index > 0 else { throw .rekeyedElsewhere }
            hasStrangers = true
        }
    }

    private static let forged = "a link between keys that is not genuine"

    private static func links(
        in vault: Directory,
        identity: VaultIdentity,
        notes: inout [VaultNote]
    ) throws(VaultError) -> [KeyLink] {
        let directory: Directory
        let names: [String]
        do {
            directory = try vault.subdirectory(VaultDirectory.keysName)
            names = try directory.names(limit: maximumLinks)
        } catch .absent {
            return []
        } catch .tooLarge {
            throw .tooLarge("more than \(maximumLinks) files in \(VaultDirectory.keysName); remove what is no link")
        } catch {
            throw .damaged("\(VaultDirectory.keysName): \(error.words)")
        }
        var links: [KeyLink] = []
        for name in names where !name.hasPrefix(".") {
            let bytes: [UInt8]
            do {
                bytes = try directory.read(name, limit: KeyLink.length)
            } catch .system(let code) {
                // The disk's fault: it may be the link that says that this key was replaced.
                let words = FileFailure.system(code).words
                throw .damaged("\(VaultDirectory.keysName)/\(name) can't be read: \(words)")
            } catch {
                notes.append(VaultNote(path: "\(VaultDirectory.keysName)/\(name)", reason: error.words))
                continue
            }
            guard let link = KeyLink(bytes: bytes), link.identity == identity else {
                notes.append(VaultNote(path: "\(VaultDirectory.keysName)/\(name)", reason: "not a link between keys"))
                continue
            }
            links.append(link)
        }
        return links
    }
}
