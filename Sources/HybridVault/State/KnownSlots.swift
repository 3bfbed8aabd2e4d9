// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The vault key that this device follows, and the slots that it has known to be authentic, also of replaced keys.
///
/// A sync server can withhold and add slots. From this file, a device recognizes a key that it does not know, and a
/// secret of a replaced key, which others may know.
///
/// File: magic (8) ‖ format (2) ‖ ID of the current vault key (16), or zeros if it was replaced elsewhere ‖ slots (219
/// each) ‖ SHA-256 of all before (32).
struct KnownSlots: Equatable {
    /// File name in the local state.
    static let fileName = "slots"
    /// Limit of the slots; the earliest stay, so that slots added later cannot displace them.
    static let maximumCount = 64
    /// Limit of the length, in bytes.
    static let maximumLength = headerLength + maximumCount * PortableSlot.length + 32

    private static let magic = Array("HYBKNOWN".utf8)
    private static let headerLength = 26

    /// ID of the current vault key; `nil` once another device has replaced it.
    var current: KeyID?
    /// Slots of this and of replaced keys, the earliest first.
    private(set) var slots: [PortableSlot] = []

    /// Creates a file without slots.
    init(current: KeyID? = nil) { self.current = current }

    /// Reads the file; `nil` for any other length, checksum or content.
    init?(bytes: [UInt8]) {
        let length = bytes.count - Self.headerLength - 32
        guard length >= 0, length.isMultiple(of: PortableSlot.length), bytes.count <= Self.maximumLength,
            var reader = FieldReader(checksummed: bytes, length: bytes.count, magic: Self.magic),
            let current = reader.takeKeyID()
        else { return nil }
        self.current = current == Self.none ? nil : current
        for _ in 0..<(length / PortableSlot.length) {
            guard let slot = reader.take(PortableSlot.length).flatMap(PortableSlot.init(bytes:)) else { return nil }
            slots.append(slot)
        }
    }

    /// Contents of the file.
    var bytes: [UInt8] {
        let key = current?.bytes ?? [UInt8](repeating: 0, count: KeyID.length)
        return slots.reduce(.header(magic: Self.magic) + key) { $0 + $1.bytes }.checksummed
    }

    /// Removes the slots of all other keys.
    mutating func keepSlots(of keys: Set<KeyID>) { slots.removeAll { !keys.contains($0.keyID) } }

    /// Adds slots that are not in the file yet.
    ///
    /// Only slots of usual cost are added, because a thief of a key could make joining take minutes.
    mutating func insert(_ new: [PortableSlot]) {
        for slot in new where slot.scrypt.cost <= Scrypt.standard.cost && !slots.contains(slot) {
            guard slots.count < Self.maximumCount else { return }
            slots.append(slot)
        }
    }

    private static let none = KeyID(bytes: [UInt8](repeating: 0, count: KeyID.length))
}

extension LocalState {
    /// Records that a vault key is the current one, and its authentic slots.
    func remember(_ key: SymmetricKey, slots: [PortableSlot]) throws(VaultError) {
        try write(try knownSlots() ?? KnownSlots(), following: key, slots: slots)
    }

    /// Records the current key on joining, and replaces a damaged file.
    ///
    /// - Parameter isRestoring: True to forget the keys that the restored backup does not know. The user chose it, and
    ///   may later return to a vault with such a key.
    func remember(joining ring: KeyRing, slots: [PortableSlot], isRestoring: Bool) throws(VaultError) {
        var known = (try? knownSlots()) ?? KnownSlots()
        if isRestoring { known.keepSlots(of: Set(ring.keys.map { KeyID(of: $0, identity: identity) })) }
        try write(known, following: ring.newest, slots: slots)
    }

    private func write(_ known: KnownSlots, following key: SymmetricKey, slots: [PortableSlot]) throws(VaultError) {
        var known = known
        known.current = KeyID(of: key, identity: identity)
        known.insert(slots.filter { $0.keyID == known.current && $0.isAuthentic(under: key) })
        // Not written at each unlocking.
        if (try? knownSlots()) != known { try write(known) }
    }

    /// Records that another device replaced a vault key.
    func rememberReplacement(of key: SymmetricKey) throws(VaultError) {
        let replaced = KeyID(of: key, identity: identity)
        var known = try knownSlots() ?? KnownSlots(current: replaced)
        guard known.current == replaced else { return }
        known.current = nil
        try write(known)
    }

    /// Refuses a passphrase that opened a slot of this vault before; slow by design.
    ///
    /// - Parameter allowed: ID of the key whose secrets may be used again, or `nil` for none.
    /// - Throws: ``VaultError/passphraseUsedBefore``.
    func checkIsNew(_ secret: PortableSecret, allowing allowed: KeyID? = nil) throws(VaultError) {
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
        comparedAs compared: KeyFingerprint?,
        isRestoring: Bool,
        at location: VaultLocation,
        identity: VaultIdentity
    ) throws(VaultError) {
        let state = try LocalState(existingIn: location.stateDirectory, identity: identity)
        let id = KeyID(of: key, identity: identity)
        if let state {
            // A damaged file is no reason to trust a key, and is replaced by joining.
            let known = (try? state.knownSlots()) ?? KnownSlots()
            if known.current == id { return }
            if !state.hasKnownSlots, (try? state.seen(KeyRing(key))) != nil { return }
            let others = known.slots.filter { !isRestoring || $0.keyID != id }
            if try others.isOpened(by: secret) { throw .secretOfReplacedKey }
        }
        let fingerprint = KeyFingerprint(of: id, identity: identity)
        guard compared == fingerprint else {
            throw .keyNotCompared(fingerprint, isReplacement: state?.hasSeenRevisions ?? false)
        }
    }
}

extension [PortableSlot] {
    /// Returns true if the secret opens one of the slots; slow by design.
    fileprivate func isOpened(by secret: PortableSecret) throws(VaultError) -> Bool {
        do throws(VaultError) {
            _ = try open(with: secret)
            return true
        } catch {
            switch error {
            case .noSuchSlot, .wrongSecret: return false
            default: throw error
            }
        }
    }
}
