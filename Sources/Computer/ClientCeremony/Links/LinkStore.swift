// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Glibc
package import HybridCaBLE
internal import HybridCommandSupport
package import HybridNetwork
internal import HybridPrimitives
package import HybridProgram
package import HybridSession

/// The store of linked phones: one file for each, in a folder that only its user can access.
///
/// The name of a file is derived from the phone's public key, so a new link of the same phone replaces the older one. A
/// damaged file is named and skipped. Links must not be synced to other devices, because each is for one computer.
package struct LinkStore: Sendable {
    /// Maximum number of linked phones.
    package static let maximumCount = 32
    private static let maximumFileSize = 16 * 1024
    private static let suffix = ".cbor"
    /// Maximum number of characters of a name before a number.
    private static let maximumNumberedName = 32

    private let path: String
    private let warn: @Sendable (String) -> Void

    /// Creates the store in a folder, which is created with the first link.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the folder.
    ///   - warn: Called with a sentence for each file that is skipped.
    package init(path: String, warn: @escaping @Sendable (String) -> Void) {
        self.path = path
        self.warn = warn
    }

    /// The TLS sessions with the relays of the links, in files of the same folder.
    package var tlsSessions: TLSSessions { TLSSessions(folder: path) }

    /// The public keys of passkeys that phones have created through this computer, in a file of the same folder.
    package var createdPasskeys: CreatedPasskeys { CreatedPasskeys(path: path, warn: warn) }

    /// Creates the store of this user, `hybrid/links` in the user's XDG state directory.
    ///
    /// - Parameter warn: Called with a sentence for each file that is skipped.
    /// - Throws: ``CommandFailure`` if the environment names no state directory.
    package static func ofUser(warn: @escaping @Sendable (String) -> Void) throws(CommandFailure) -> LinkStore {
        let environment = ProcessEnvironment.variables
        guard let folder = ProcessEnvironment.directory("XDG_STATE_HOME", belowHome: ".local/state", environment) else {
            throw CommandFailure("HOME is not set; set it, or XDG_STATE_HOME", status: .usage)
        }
        return LinkStore(path: "\(folder)/links", warn: warn)
    }

    /// Returns all links, the last used first.
    ///
    /// - Throws: ``CommandFailure`` if the folder is accessible to other users or can't be read.
    package func links() throws(CommandFailure) -> [StoredLink] {
        guard let folder = try existingFolder() else { return [] }
        return try links(in: folder)
    }

    private func links(in folder: StateFolder) throws(CommandFailure) -> [StoredLink] {
        var links: [StoredLink] = []
        for name in try folder.names(endingIn: Self.suffix) {
            do throws(CommandFailure) {
                if let link = try read(name, in: folder) { links.append(link) }
            } catch {
                warn(error.sentence)
            }
        }
        return links.sorted { $0.lastUsed > $1.lastUsed }
    }

    /// Returns the links to a phone by name or ID, the last used first.
    ///
    /// - Parameter text: The displayed name, or the ID as `phones list` prints it.
    package func links(to text: String) throws(CommandFailure) -> [StoredLink] {
        let name = PhoneName(text)
        return try links().filter { $0.name == name || $0.id == text }
    }

    /// Returns a name for a link that no other phone has: the phone's own, or the same with a number.
    ///
    /// A phone chooses its name, so it could take that of another one, and would be contacted in its place.
    package func freeName(for link: StoredLink) throws(CommandFailure) -> PhoneName {
        let taken = Set(try links().filter { $0.id != link.id }.map { $0.name.description.lowercased() })
        var (name, number) = (link.name, 1)
        while taken.contains(name.description.lowercased()) {
            number += 1
            name = PhoneName("\(link.name.description.prefix(Self.maximumNumberedName)) (\(number))")
        }
        return name
    }

    /// Stores a link, in place of an older one of the same phone.
    ///
    /// - Throws: ``CommandFailure`` if there are ``maximumCount`` other links, or the file can't be written.
    package func save(_ link: StoredLink) throws(CommandFailure) {
        let folder = try StateFolder(path: path)
        try folder.whileLocked { () throws(CommandFailure) in
            let others = try folder.names(endingIn: Self.suffix).filter { $0 != Self.fileName(link) }
            guard others.count < Self.maximumCount else {
                throw CommandFailure(
                    "\(Self.maximumCount) phones are already linked; remove one with: hybrid-client phones forget",
                    code: "too-many-phones",
                    status: .notPermitted
                )
            }
            try write(link, in: folder)
        }
    }

    /// Changes a link that still exists.
    ///
    /// - Returns: False if another process has removed or replaced the link.
    @discardableResult
    package func update(
        _ link: StoredLink,
        _ change: (inout StoredLink) -> Void
    ) throws(CommandFailure) -> Bool {
        guard let folder = try existingFolder() else { return false }
        return try folder.whileLocked { () throws(CommandFailure) in
            guard var current = try read(Self.fileName(link), in: folder), current.linkID == link.linkID else {
                return false
            }
            change(&current)
            try write(current, in: folder)
            return true
        }
    }

    /// Returns the claims for the next request to a phone, whose number is stored first.
    ///
    /// - Throws: ``CommandFailure`` if the link was removed, or the number can't be stored. A number must not be used twice.
    package func nextClaims(for link: StoredLink, _ requester: Requester) throws(CommandFailure) -> ContactClaims {
        var number: UInt64 = 0
        let exists = try update(link) { stored in
            stored.lastNumber += 1
            number = stored.lastNumber
        }
        guard exists else { throw CommandFailure(unknownPhone: link.name.description) }
        return ContactClaims(number: number, time: WallClock.realtime.now(), requester: requester)
    }

    /// Removes a link, unless the phone was linked again meanwhile.
    ///
    /// Unless another link has the same relay, TLS sessions are removed, too. Those of other relays save a round trip only.
    ///
    /// - Returns: False if another process has removed or replaced the link.
    @discardableResult
    package func remove(_ link: StoredLink) throws(CommandFailure) -> Bool {
        guard let folder = try existingFolder() else { return false }
        return try folder.whileLocked { () throws(CommandFailure) in
            guard let current = try read(Self.fileName(link), in: folder), current.linkID == link.linkID else {
                return false
            }
            try folder.remove(Self.fileName(link))
            // The link is removed, so nothing that follows is an error or worth a warning.
            let others = (try? folder.names(endingIn: Self.suffix)) ?? []
            let isLast = !others.contains { (try? read($0, in: folder))?.domain == link.domain }
            if isLast { tlsSessions.removeAll() }
            return true
        }
    }

    /// Returns the folder; `nil` if there is none, because reading must not create it.
    private func existingFolder() throws(CommandFailure) -> StateFolder? {
        access(path, F_OK) == 0 ? try StateFolder(path: path) : nil
    }

    private func read(_ name: String, in folder: StateFolder) throws(CommandFailure) -> StoredLink? {
        guard var bytes = try folder.read(name, atMost: Self.maximumFileSize) else { return nil }
        defer { SecretBytes.wipe(&bytes) }
        if StoredLink.isOutdated(file: bytes) {
            throw CommandFailure(
                "\(folder.file(name)) is a link from an older version and is skipped; remove it, and link this phone again",
                code: "link-outdated",
                status: .dataError
            )
        }
        guard let link = StoredLink(file: bytes), Self.fileName(link) == name else {
            throw CommandFailure(
                "\(folder.file(name)) is damaged or from a newer version and is skipped; remove it",
                status: .dataError
            )
        }
        return link
    }

    private func write(_ link: StoredLink, in folder: StateFolder) throws(CommandFailure) {
        var bytes = link.file
        defer { SecretBytes.wipe(&bytes) }
        try folder.replace(Self.fileName(link), with: bytes)
    }

    private static func fileName(_ link: StoredLink) -> String { link.id + suffix }
}

extension StoredLink {
    /// The ID of the phone: 16 hexadecimal digits of the hash of its public key.
    package var id: String {
        Hex.encode(Array(SHA256.hash(data: authenticatorKey.x963Representation).prefix(8)))
    }
}

extension CommandFailure {
    /// Creates the failure for a phone that is not linked.
    package init(unknownPhone text: String) {
        self.init(
            "no linked phone has the name or ID \(PhoneName(text).quoted); see hybrid-client phones list",
            code: "unknown-phone",
            status: .noInput
        )
    }
}
