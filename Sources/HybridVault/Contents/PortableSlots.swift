// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The slots in a vault directory.
///
/// A slot is written once and may be deleted; it never changes.
struct PortableSlots {
    /// Maximum number of slots; there must be few, because trying one takes a third of a second or more.
    static let maximumCount = 32
    private static let maximumNamesToDelete = 100_000

    /// All well-formed slots; the vault key is needed to find out which ones are authentic.
    private(set) var all: [PortableSlot] = []
    /// Warnings about ignored files.
    private(set) var warnings: [VaultWarning] = []
    /// File names of each slot, including copies that a sync tool made, by the slot's bytes.
    ///
    /// The slot ID cannot be the key, because a forged slot may have the ID of another.
    private var names: [[UInt8]: [String]] = [:]

    /// Reads all slots without opening them.
    ///
    /// - Parameters:
    ///   - vault: The vault directory.
    ///   - identity: The identity of the vault.
    ///   - toDelete: True if the slots are read only to delete some of them. A much higher limit then applies, because
    ///     an attacker with write access to the directory could otherwise keep a rekey from finishing.
    init(in vault: Directory, identity: VaultIdentity, toDelete: Bool = false) throws(VaultError) {
        let maximumNames = toDelete ? Self.maximumNamesToDelete : 4 * Self.maximumCount
        let name = VaultDirectory.slotsName
        let tooMany = "more than \(maximumNames) files in \(name); delete files that are not slots"
        let length = PortableSlot.length
        var known: Set<[UInt8]> = []
        for file in try vault.files(in: name, limit: maximumNames, tooMany: tooMany, length: length, &warnings) {
            guard let slot = PortableSlot(bytes: file.bytes), slot.identity == identity else {
                let reason = "not a slot of this vault, or damaged"
                warnings.append(VaultWarning(path: "\(name)/\(file.name)", reason: reason))
                continue
            }
            names[slot.bytes, default: []].append(file.name)
            if known.insert(slot.bytes).inserted { all.append(slot) }
        }
        // One more than can be added, because an interrupted replacement leaves both slots.
        guard toDelete || all.count <= Self.maximumCount + 1 else {
            throw .tooLarge("more than \(Self.maximumCount) slots; delete unused ones")
        }
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
    /// Returns the vault key from the first slot that the secret opens; slow by design.
    ///
    /// - Throws: ``VaultError/noSuchSlot``, ``VaultError/wrongSecret`` or ``VaultError/outOfMemory``.
    func open(with secret: PortableSecret) throws(VaultError) -> SymmetricKey {
        guard contains(where: { $0.kind == secret.kind }) else { throw .noSuchSlot }
        var isOutOfMemory = false
        for slot in self where slot.kind == secret.kind {
            do {
                if let key = try slot.open(with: secret) { return key }
            } catch {
                // A forged slot that requires too much memory must not prevent the others from being tried.
                isOutOfMemory = true
            }
        }
        throw isOutOfMemory ? .outOfMemory : .wrongSecret
    }
}
