// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
package import HybridProgram
package import HybridSession

/// The state of this device as a phone: its identity and its links.
///
/// The state belongs to the device. It is not in the vault and must not be synchronized. Several processes use it: each
/// change holds a lock, and each file is replaced as a whole.
package struct PhoneLinkStore: Sendable {
    /// Maximum number of active links.
    package static let maximumCount = 32
    /// Maximum number of revocations that are kept; the oldest are dropped first.
    static let maximumRevocations = 128
    /// The time in seconds for which a revocation is kept.
    static let revocationLifetime: UInt64 = 365 * 86_400

    private static let identityName = "identity"
    private static let suffix = ".cbor"
    private static let reserveName = "push-reserve"

    private let folder: StateFolder

    /// Creates a store in a folder.
    ///
    /// - Parameter path: The absolute path of the folder, which is created if it is missing.
    /// - Throws: ``CommandFailure``.
    package init(path: String) throws(CommandFailure) { folder = try StateFolder(path: path) }

    /// Returns the default path, `hybrid/phone` in the user's XDG state directory.
    ///
    /// - Throws: ``CommandFailure`` if neither `XDG_STATE_HOME` nor `HOME` is set.
    package static func defaultPath(_ environment: [String: String]) throws(CommandFailure) -> String {
        guard let folder = ProcessEnvironment.directory("XDG_STATE_HOME", belowHome: ".local/state", environment) else {
            throw CommandFailure("HOME is not set; set it, or XDG_STATE_HOME", status: .usage)
        }
        return "\(folder)/phone"
    }

    /// The path of the folder.
    package var path: String { folder.path }

    /// Returns the identity of this device, which the first call creates.
    ///
    /// - Throws: ``CommandFailure`` if the file is damaged: a new identity would end all links without notice.
    package func identity() throws(CommandFailure) -> PhoneIdentity {
        try folder.whileLocked { () throws(CommandFailure) in
            let length = PhoneIdentity.length
            if var bytes = try folder.read(Self.identityName, atMost: 2 * length + 1) {
                defer { SecretBytes.wipe(&bytes) }
                let hash = SHA256.hash(data: bytes.prefix(length))
                guard bytes.count == 2 * length, hash.elementsEqual(bytes.suffix(length)),
                    let identity = PhoneIdentity(bytes: bytes.prefix(length))
                else { throw damaged(Self.identityName, "delete it, and link your computers again") }
                return identity
            }
            let identity = PhoneIdentity()
            var bytes = identity.withUnsafeBytes { Array($0) }
            defer { SecretBytes.wipe(&bytes) }
            bytes += SHA256.hash(data: bytes)
            try folder.replace(Self.identityName, with: bytes)
            return identity
        }
    }

    /// All links that can be read.
    package struct Contents: Sendable {
        /// The active links, oldest first.
        package var links: [StoredPhoneLink] = []
        /// The revocations of forgotten links, oldest first.
        package var revocations: [StoredPhoneLink] = []
        /// A sentence for each damaged file, which is ignored.
        package var damaged: [String] = []
    }

    /// Reads all links.
    ///
    /// - Throws: ``CommandFailure`` if the folder cannot be read.
    package func contents() throws(CommandFailure) -> Contents {
        var contents = Contents()
        for name in try folder.names(endingIn: Self.suffix).prefix(2 * (Self.maximumCount + Self.maximumRevocations)) {
            do throws(CommandFailure) {
                guard let record = try read(name) else { continue }
                if record.activity == nil { contents.revocations.append(record) } else { contents.links.append(record) }
            } catch {
                contents.damaged.append(error.sentence)
            }
        }
        contents.links.sort { $0.created < $1.created }
        contents.revocations.sort { ($0.revocation?.time ?? 0) < ($1.revocation?.time ?? 0) }
        return contents
    }

    /// Returns a link or revocation; `nil` if there is none.
    ///
    /// - Throws: ``CommandFailure`` if its file is damaged or cannot be read.
    package func record(_ id: LinkID) throws(CommandFailure) -> StoredPhoneLink? { try read(Self.name(id)) }

    /// Returns a label that no link has: the given one, or that with a number; the given one if none of them fits.
    ///
    /// - Throws: ``CommandFailure``.
    package func freeLabel(_ label: String) throws(CommandFailure) -> String {
        let taken = try contents().links.map(\.label)
        let numbered = (2...Self.maximumCount + 1).map { "\(label) \($0)" }
        let free = ([label] + numbered).first { StoredPhoneLink.isLabel($0) && !taken.contains($0) }
        return free ?? label
    }

    /// Checks that there is room for one more link.
    ///
    /// - Throws: ``CommandFailure``.
    package func checkRoom() throws(CommandFailure) {
        guard try contents().links.count < Self.maximumCount else {
            throw CommandFailure(
                "\(Self.maximumCount) computers are linked already; remove one with hybrid-auth links forget",
                status: .usage
            )
        }
    }

    /// Adds a link, and takes its push subscription from the reserve.
    ///
    /// - Throws: ``CommandFailure``, also if another link has taken the subscription.
    package func add(_ record: StoredPhoneLink) throws(CommandFailure) {
        try folder.whileLocked { () throws(CommandFailure) in
            try checkRoom()
            guard let push = record.push else { return try write(record) }
            guard let reserve = try reserve(), push.token.matches(reserve.registration.token.text) else {
                let reason = "its push subscription belongs to a different link; link again"
                throw CommandFailure(reason, status: .temporary)
            }
            // The link first: after an interruption, the same subscription would serve two links, but none is lost.
            try write(record)
            try folder.remove(Self.reserveName)
        }
    }

    /// Returns the push subscription for the next link; `nil` if there is none, or its file is damaged.
    ///
    /// - Throws: ``CommandFailure`` if the file can't be read.
    package func reserve() throws(CommandFailure) -> PushReserve? {
        guard var bytes = try folder.read(Self.reserveName, atMost: PushReserve.maximumSize) else { return nil }
        defer { SecretBytes.wipe(&bytes) }
        return PushReserve(file: bytes)
    }

    /// Replaces the push subscription for the next link; `nil` removes it.
    ///
    /// - Throws: ``CommandFailure``.
    func setReserve(_ reserve: PushReserve?) throws(CommandFailure) {
        try folder.whileLocked { () throws(CommandFailure) in
            guard let reserve else { return try folder.remove(Self.reserveName) }
            var bytes = reserve.file
            defer { SecretBytes.wipe(&bytes) }
            try folder.replace(Self.reserveName, with: bytes)
        }
    }

    /// Records the state of a link's push subscription.
    ///
    /// - Throws: ``CommandFailure``.
    func setPushEnded(_ isEnded: Bool, of id: LinkID) throws(CommandFailure) {
        _ = try change(id) { record in record.push?.isEnded = isEnded }
    }

    /// Changes a link.
    ///
    /// - Parameters:
    ///   - id: The ID of the link.
    ///   - body: Changes the record. Nothing is written if it throws.
    /// - Returns: The result of `body`; `nil` if there is no such link.
    /// - Throws: ``CommandFailure``, also from `body`.
    func change<Result>(
        _ id: LinkID,
        _ body: (inout StoredPhoneLink) throws(CommandFailure) -> Result
    ) throws(CommandFailure) -> Result? {
        try folder.whileLocked { () throws(CommandFailure) in
            guard var record = try read(Self.name(id)) else { return nil }
            let result = try body(&record)
            try write(record)
            return result
        }
    }

    /// Changes the label of a link; does nothing if it no longer exists.
    ///
    /// - Throws: ``CommandFailure``.
    package func rename(_ id: LinkID, to label: String) throws(CommandFailure) {
        _ = try change(id) { $0.label = label }
    }

    /// Lets the computer of a muted link ask again.
    ///
    /// - Throws: ``CommandFailure``.
    package func unmute(_ id: LinkID) throws(CommandFailure) {
        _ = try change(id) { (record) -> Void in _ = record.change { $0.unmute() } }
    }

    /// Turns a link into a revocation, which the relay has not confirmed yet; its secret is deleted.
    ///
    /// - Throws: ``CommandFailure``.
    package func forget(_ id: LinkID, at time: UInt64) throws(CommandFailure) {
        _ = try change(id) { record in
            if record.activity != nil { record.state = .forgotten(StoredPhoneLink.Revocation(time: time)) }
        }
        // Outside of the lock, which `discard` takes. Meanwhile a revocation may be confirmed, but never becomes a link.
        try dropOldRevocations(at: time)
    }

    /// Records that the relay has confirmed a revocation.
    ///
    /// - Throws: ``CommandFailure``.
    package func confirmRevocation(_ id: LinkID) throws(CommandFailure) {
        _ = try change(id) { record in
            guard var revocation = record.revocation, !revocation.isConfirmed else { return }
            revocation.isConfirmed = true
            record.state = .forgotten(revocation)
        }
    }

    /// Removes a link that was never sent to a computer.
    ///
    /// - Throws: ``CommandFailure``.
    package func discard(_ id: LinkID) throws(CommandFailure) {
        try folder.whileLocked { () throws(CommandFailure) in try folder.remove(Self.name(id)) }
    }

    private func dropOldRevocations(at now: UInt64) throws(CommandFailure) {
        let revocations = try contents().revocations
        let excess = max(0, revocations.count - Self.maximumRevocations)
        for (index, record) in revocations.enumerated() {
            let time = record.revocation?.time ?? now
            if index < excess || (time < now && now - time > Self.revocationLifetime) { try discard(record.id) }
        }
    }

    private func read(_ name: String) throws(CommandFailure) -> StoredPhoneLink? {
        guard var bytes = try folder.read(name, atMost: PhoneLinkFile.maximumOutdatedSize) else { return nil }
        defer { SecretBytes.wipe(&bytes) }
        if PhoneLinkFile.isOutdated(bytes) {
            throw CommandFailure(
                "\(folder.file(name)) is from an older version; delete it, and link the computer again",
                code: "link-outdated",
                status: .dataError
            )
        }
        guard let record = PhoneLinkFile.decode(bytes), Self.name(record.id) == name else {
            throw damaged(name, "delete it, and link the computer again")
        }
        return record
    }

    private func write(_ record: StoredPhoneLink) throws(CommandFailure) {
        var bytes = PhoneLinkFile.encode(record)
        defer { SecretBytes.wipe(&bytes) }
        try folder.replace(Self.name(record.id), with: bytes)
    }

    private func damaged(_ name: String, _ remedy: String) -> CommandFailure {
        CommandFailure("\(folder.file(name)) is damaged; \(remedy)", code: "link-damaged", status: .dataError)
    }

    private static func name(_ id: LinkID) -> String { Hex.encode(id.bytes) + suffix }
}
