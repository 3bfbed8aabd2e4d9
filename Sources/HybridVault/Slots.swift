// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The slots in a vault's directory: written once, deleted, never changed.
struct Slots {
    /// More slots than that are refused, because trying each costs a third of a second and more.
    static let maximumCount = 32
    private static let maximumNamesToDelete = 100_000

    /// Those that can be read; whether they are genuine is only known with a key.
    private(set) var all: [PortableSlot] = []
    /// What was left alone.
    private(set) var notes: [VaultNote] = []
    /// The names of all files of one slot, copies that a sync tool made included; known by all its bytes, because a
    /// forged slot may bear the ID of another.
    private var names: [[UInt8]: [String]] = [:]

    /// Reads the headers of all of them.
    ///
    /// - Parameter toDelete: Whether none of them will be tried, so that there may be far more than the limit: whoever
    ///   can write the directory must not be able to keep a rekeying from ending.
    init(in vault: Directory, identity: VaultIdentity, toDelete: Bool = false) throws(VaultError) {
        let maximumNames = toDelete ? Self.maximumNamesToDelete : 4 * Self.maximumCount
        let directory: Directory
        let names: [String]
        do {
            directory = try vault.subdirectory(VaultDirectory.slotsName)
            names = try directory.names(limit: maximumNames)
        } catch .absent {
            return
        } catch .tooLarge {
            throw .tooLarge("more than \(maximumNames) files in \(VaultDirectory.slotsName); delete what is no slot")
        } catch {
            throw .damaged("\(VaultDirectory.slotsName): \(error.words)")
        }
        var known: Set<[UInt8]> = []
        for name in names where !name.hasPrefix(".") {
            let path = "\(VaultDirectory.slotsName)/\(name)"
            let bytes: [UInt8]
            do {
                bytes = try directory.read(name, limit: PortableSlot.length)
            } catch .system(let code) {
                // The disk's fault: whoever replaces a passphrase must not be told that it is gone.
                throw .damaged("\(path) can't be read: \(FileFailure.system(code).words)")
            } catch {
                notes.append(VaultNote(path: path, reason: error.words))
                continue
            }
            guard let slot = PortableSlot(bytes: bytes), slot.identity == identity else {
                notes.append(VaultNote(path: path, reason: "not a slot of this vault, or damaged"))
                continue
            }
            self.names[slot.bytes, default: []].append(name)
            if known.insert(slot.bytes).inserted { all.append(slot) }
        }
        // One more than is made: a replacing that was cut short leaves it.
        guard toDelete || all.count <= Self.maximumCount + 1 else {
            throw .tooLarge("more than \(Self.maximumCount) slots; delete those that nobody needs")
        }
    }

    /// Slots of a kind that somebody with this vault key made.
    func genuine(_ kind: PortableSlot.Kind, _ key: SymmetricKey) -> [PortableSlot] {
        all.filter { $0.kind == kind && $0.isMade(with: key) }
    }

    /// The vault key from the first slot that the secret opens; slow by design.
    ///
    /// - Throws: ``VaultError/wrongSecret``, or ``VaultError/outOfMemory``.
    func open(with secret: PortableSecret) throws(VaultError) -> SymmetricKey {
        guard all.contains(where: { $0.kind == secret.kind }) else { throw .noSuchSlot }
        var wasShort = false
        for slot in all where slot.kind == secret.kind {
            do {
                if let key = try slot.open(with: secret) { return key }
            } catch {
                // One slot that asks for more memory than there is must not keep the others from being tried.
                wasShort = true
            }
        }
        throw wasShort ? .outOfMemory : .wrongSecret
    }

    /// Adds a slot, durably.
    static func write(_ slot: PortableSlot, in vault: Directory) throws(VaultError) {
        do {
            try vault.makeSubdirectory(VaultDirectory.slotsName).write(slot.fileName, slot.bytes, replacing: false)
        } catch {
            throw .cannotWrite("\(vault.path)/\(VaultDirectory.slotsName): \(error.words)")
        }
    }

    /// Deletes slots here, with their copies; other devices' directories and old copies keep them.
    func delete(_ slots: [PortableSlot], in vault: Directory) throws(VaultError) {
        let files = slots.flatMap { names[$0.bytes] ?? [] }
        guard !files.isEmpty else { return }
        do {
            try vault.subdirectory(VaultDirectory.slotsName).remove(files)
        } catch {
            throw .cannotWrite("\(vault.path)/\(VaultDirectory.slotsName): \(error.words)")
        }
    }
}
