// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The vault key that this device follows, the earlier ones that were replaced, and the slots that it has known.
///
/// A sync server can withhold and add slots and links. From this file, a device recognizes a key that it does not know,
/// a replaced key, and a secret of a replaced key, which others may know.
///
/// File: magic (8) ‖ format (2) ‖ ID of the current vault key (16) ‖ number of replaced keys (1) ‖ their IDs (16 each)
/// ‖ slots (219 each) ‖ SHA-256 of all before (32).
struct KnownSlots: Equatable {
    /// File name in the local state.
    static let fileName = "slots"
    /// Limit of the slots, and of the replaced keys.
    static let maximumCount = 64
    /// Limit of the length, in bytes.
    static let maximumLength = 27 + maximumCount * (VaultKeyID.length + PortableSlot.length) + 32

    private static let magic = Array("HYBKNOWN".utf8)

    /// ID of the vault key that this device follows.
    private(set) var current: VaultKeyID
    /// Keys that this device followed until they were replaced, the latest last.
    private(set) var replaced: [VaultKeyID] = []
    /// Slots of the keys that this device has followed: first those that were created or opened with their secret here.
    private(set) var slots: [PortableSlot] = []

    /// True if another device has replaced the current key.
    var isReplaced: Bool { replaced.contains(current) }

    /// Creates a file without slots.
    init(current: VaultKeyID) { self.current = current }

    /// Reads the file; `nil` for any other length, checksum or content.
    init?(bytes: [UInt8]) {
        guard bytes.count <= Self.maximumLength,
            var reader = BinaryFieldReader(checksummed: bytes, length: bytes.count, magic: Self.magic),
            let current = reader.takeKeyID(), let count = reader.take(UInt8.self), count <= Self.maximumCount
        else { return nil }
        self.current = current
        for _ in 0..<count {
            guard let key = reader.takeKeyID() else { return nil }
            replaced.append(key)
        }
        while reader.rest.count > 32 {
            guard let slot = reader.take(PortableSlot.length).flatMap(PortableSlot.init(bytes:)) else { return nil }
            slots.append(slot)
        }
        guard reader.rest.count == 32, slots.count <= Self.maximumCount else { return nil }
    }

    /// Contents of the file.
    var bytes: [UInt8] {
        let keys = replaced.reduce(current.bytes + [UInt8(replaced.count)]) { $0 + $1.bytes }
        return slots.reduce(.header(magic: Self.magic) + keys) { $0 + $1.bytes }.checksummed
    }

    /// Makes a key the current one.
    ///
    /// - Parameters:
    ///   - key: ID of the key.
    ///   - older: IDs of the keys that it replaced. A thief of the key could add any number, so only those that this
    ///     device has followed are recorded.
    mutating func follow(_ key: VaultKeyID, replacing older: [VaultKeyID]) {
        let followed = Set(slots.map(\.keyID)).union([current])
        for old in older where followed.contains(old) { insertReplaced(old) }
        current = key
    }

    /// Records that a key was replaced.
    mutating func insertReplaced(_ key: VaultKeyID) {
        guard !replaced.contains(key) else { return }
        replaced = (replaced + [key]).suffix(Self.maximumCount)
    }

    /// Forgets that a key was replaced.
    mutating func removeReplaced(_ key: VaultKeyID) { replaced.removeAll { $0 == key } }

    /// Adds slots.
    ///
    /// Only slots of the standard cost are added, because a thief of a key could make joining take minutes.
    ///
    /// - Parameters:
    ///   - new: Authentic slots of the current key.
    ///   - isOwn: True if they were created or opened with their secret here. Such slots displace others, of which a
    ///     thief of the key can add any number to the vault directory.
    mutating func insert(_ new: [PortableSlot], isOwn: Bool) {
        for slot in new where slot.scrypt.cost <= Scrypt.standard.cost {
            if isOwn {
                slots = [slot] + slots.filter { $0 != slot }
            } else if !slots.contains(slot) {
                slots.append(slot)
            }
        }
        slots = Array(slots.prefix(Self.maximumCount))
    }
}

extension LocalState {
    /// Records the current key, the keys that it replaced, and its authentic slots.
    ///
    /// - Parameters:
    ///   - ring: The current key and its predecessors.
    ///   - own: Slots that were created or opened with their secret here.
    ///   - slots: All slots of the vault.
    ///   - isRestoring: True if the user chose a backup of the key, which may have been replaced.
    func remember(
        _ ring: VaultKeyRing,
        own: [PortableSlot] = [],
        slots: [PortableSlot],
        isRestoring: Bool = false
    ) throws(VaultError) {
        let keys = ring.keys.map { VaultKeyID(of: $0, identity: identity) }
        let before = try knownSlots()
        var known = before ?? KnownSlots(current: keys[0])
        known.follow(keys[0], replacing: Array(keys.dropFirst()))
        if isRestoring { known.removeReplaced(keys[0]) }
        for (slots, isOwn) in [(slots, false), (own, true)] {
            known.insert(slots.filter { $0.keyID == keys[0] && $0.isAuthentic(under: ring.newest) }, isOwn: isOwn)
        }
        // Not written at each unlocking.
        if before != known { try write(known) }
    }

    /// Records that another device replaced a vault key that this device follows.
    func rememberReplacement(of key: SymmetricKey) throws(VaultError) {
        let replaced = VaultKeyID(of: key, identity: identity)
        var known = try knownSlots() ?? KnownSlots(current: replaced)
        guard known.current == replaced else { return }
        known.insertReplaced(replaced)
        try write(known)
    }

    /// Throws ``VaultError/rekeyedElsewhere`` if this device knows that a key was replaced.
    func checkIsNotReplaced(_ key: SymmetricKey) throws(VaultError) {
        guard let known = try knownSlots(), known.replaced.contains(VaultKeyID(of: key, identity: identity)) else {
            return
        }
        throw .rekeyedElsewhere
    }

    /// Refuses a passphrase that opened a slot of this vault before; slow by design.
    ///
    /// - Parameter allowed: ID of the key whose secrets may be used again, or `nil` for none.
    /// - Throws: ``VaultError/passphraseUsedBefore``.
    func checkIsNew(_ secret: PortableSecret, allowing allowed: VaultKeyID? = nil) throws(VaultError) {
        // A recovery code is random, hence new.
        guard secret.kind == .passphrase, let known = try knownSlots() else { return }
        if try known.slots.filter({ $0.keyID != allowed }).isOpened(by: secret) { throw .passphraseUsedBefore }
    }

    /// Refuses a vault key that is new to this device until the user has compared its fingerprint.
    ///
    /// A holder of a replaced key, of its passphrase and of write access to the directory can write a link to a key of
    /// their own, and a slot for it that the old passphrase opens.
    ///
    /// - Parameters:
    ///   - key: The vault key that the secret has opened.
    ///   - secret: The secret.
    ///   - compared: The fingerprint that the user has compared.
    ///   - isRestoring: True if the user chose a backup, which may be older than this device's key.
    /// - Throws: ``VaultError/secretOfReplacedKey``, ``VaultError/keyNotCompared(_:isReplacement:)``.
    static func checkIsKnown(
        _ key: SymmetricKey,
        openedWith secret: PortableSecret,
        comparedAs compared: VaultKeyFingerprint?,
        isRestoring: Bool,
        at location: VaultLocation,
        identity: VaultIdentity
    ) throws(VaultError) {
        let state = try LocalState(existingIn: location.stateDirectory, identity: identity)
        let id = VaultKeyID(of: key, identity: identity)
        if let state {
            if let known = try? state.knownSlots() {
                if known.current == id, !known.isReplaced { return }
                // A server may withhold the link that showed this.
                if !isRestoring, known.replaced.contains(id) { throw .secretOfReplacedKey }
                let others = known.slots.filter { $0.keyID != id }
                if try others.isOpened(by: secret) { throw .secretOfReplacedKey }
            } else if (try? state.seen(VaultKeyRing(key))) != nil {
                return
            }
        }
        let fingerprint = VaultKeyFingerprint(of: id, identity: identity)
        guard compared == fingerprint else {
            throw .keyNotCompared(fingerprint, isReplacement: state?.hasSeenRevisions ?? false)
        }
    }
}

extension [PortableSlot] {
    /// Returns true if the secret opens one of the slots; slow by design.
    fileprivate func isOpened(by secret: PortableSecret) throws(VaultError) -> Bool {
        do throws(VaultError) {
            _ = try unwrapKey(with: secret)
            return true
        } catch {
            switch error {
            case .noSuchSlot, .wrongSecret: return false
            default: throw error
            }
        }
    }
}
