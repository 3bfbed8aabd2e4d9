// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The slots in a vault directory.
///
/// A slot is written once and may be deleted; it never changes.
struct PortableSlots {
    /// Maximum number of slots that are created.
    static let maximumCount = 32
    /// Limit of the slots that are tried, because each takes a third of a second or more.
    ///
    /// It leaves room for slots that another device created meanwhile, or that a rekey has not deleted yet.
    static let maximumTried = 2 * maximumCount
    /// Limit of the total cost of the slots that are tried.
    static let maximumCost = maximumTried * Scrypt.standard.cost
    /// Limit of the files that are read.
    ///
    /// It is high because a server that adds more keeps slots from being used.
    static let maximumFiles = 100_000

    /// All well-formed slots; the vault key is needed to find out which ones are authentic.
    private(set) var all: [PortableSlot] = []
    /// Warnings about ignored files.
    private(set) var warnings: [VaultWarning] = []
    /// File names of each slot, including copies that a sync tool made, by the slot's bytes.
    ///
    /// The slot ID cannot be the key, because a forged slot may have the ID of another.
    private var names: [[UInt8]: [String]] = [:]

    /// Reads the slots among the first `limit` files without opening them.
    init(in vault: Directory, identity: VaultIdentity, limit: Int = maximumFiles) throws(VaultError) {
        let name = VaultDirectory.slotsName
        var known: Set<[UInt8]> = []
        for file in try vault.files(in: name, limit: limit, length: PortableSlot.length, &warnings) {
            guard let slot = PortableSlot(bytes: file.bytes), slot.identity == identity else {
                let reason = "not a slot of this vault, or damaged"
                warnings.append(VaultWarning(path: "\(name)/\(file.name)", reason: reason))
                continue
            }
            names[slot.bytes, default: []].append(file.name)
            if known.insert(slot.bytes).inserted { all.append(slot) }
        }
    }

    /// Returns the slots that were created with this vault key.
    func authentic(_ key: SymmetricKey) -> [PortableSlot] {
        authentic(.passphrase, key) + authentic(.recoveryCode, key)
    }

    /// Returns the slots of a kind that were created with this vault key.
    func authentic(_ kind: PortableSlot.Kind, _ key: SymmetricKey) -> [PortableSlot] {
        all.filter { $0.kind == kind && $0.isAuthentic(under: key) }
    }

    /// Writes a new slot durably.
    static func write(_ slot: PortableSlot, in vault: Directory) throws(VaultError) {
        try accessing("\(vault.path)/\(VaultDirectory.slotsName)") { () throws(FileError) in
            try vault.makeSubdirectory(VaultDirectory.slotsName).write(slot.fileName, slot.bytes, replacing: false)
        }
    }

    /// Deletes slots and their copies from this directory; other copies of the directory keep them.
    func delete(_ slots: [PortableSlot], in vault: Directory) throws(VaultError) {
        let files = slots.flatMap { names[$0.bytes] ?? [] }
        guard !files.isEmpty else { return }
        try accessing("\(vault.path)/\(VaultDirectory.slotsName)") { () throws(FileError) in
            try vault.subdirectory(VaultDirectory.slotsName).remove(files)
        }
    }
}

extension [PortableSlot] {
    /// Slots to try, within limits of their number and their total cost.
    ///
    /// Those of the cost that this program writes come first, so that costly forged slots cannot displace them. The
    /// order is random otherwise, so that a second attempt may reach other slots.
    var affordable: [PortableSlot] {
        let standard = Scrypt.standard.cost
        let ordered = shuffled().map { slot in (rank: slot.scrypt.cost == standard ? 0 : slot.scrypt.cost, slot: slot) }
        var (tried, cost) = ([PortableSlot](), 0)
        for (_, slot) in ordered.sorted(by: { $0.rank < $1.rank }) {
            guard tried.count < PortableSlots.maximumTried, cost + slot.scrypt.cost <= PortableSlots.maximumCost else {
                break
            }
            tried.append(slot)
            cost += slot.scrypt.cost
        }
        return tried
    }

    /// Returns the vault key and the first slot that the secret opens; slow by design.
    ///
    /// - Throws: ``VaultError/noSuchSlot``, ``VaultError/wrongSecret``, ``VaultError/slotsNotTried(_:)`` or
    ///   ``VaultError/outOfMemory``.
    func unwrapKey(with secret: PortableSecret) throws(VaultError) -> (key: SymmetricKey, slot: PortableSlot) {
        let slots = filter { $0.kind == secret.kind }
        guard !slots.isEmpty else { throw .noSuchSlot }
        let affordable = slots.affordable
        var isOutOfMemory = false
        for slot in affordable {
            do {
                if let key = try slot.unwrapKey(with: secret) { return (key, slot) }
            } catch {
                // A forged slot that requires too much memory must not prevent the others from being tried.
                isOutOfMemory = true
            }
        }
        guard !isOutOfMemory else { throw .outOfMemory }
        let rest = slots.count - affordable.count
        throw rest > 0 ? .slotsNotTried(rest) : .wrongSecret
    }
}
