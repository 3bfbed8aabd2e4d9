// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridAuthenticator
internal import HybridPrimitives
internal import HybridThreads

/// A backup that was read: the whole vault in one file, still sealed.
///
/// It holds the current revision of every record, the histories, the links between keys and the slots. No PIN
/// opens it, because a PIN belongs to a device.
public struct VaultBackup: Sendable {
    let file: BackupFile
    private let path: String

    /// Whether it is of a vault made under a virtual radio.
    public var isTest: Bool { file.identity.test }
    /// Name of the vault: 32 hexadecimal digits.
    public var vaultID: String { file.identity.name }

    /// Reads a backup.
    ///
    /// - Throws: ``VaultError/backupUnreadable(_:)`` or ``VaultError/backupDamaged(_:)``.
    public static func read(_ path: String) async throws(VaultError) -> VaultBackup {
        try await DedicatedThread.run { () throws(VaultError) in
            let (folder, name) = try split(path)
            let bytes: [UInt8]
            do throws(FileFailure) {
                bytes = try Directory.open(path: folder).read(name, limit: BackupFile.maximumLength)
            } catch {
                throw .backupUnreadable("\(path): \(error.words)")
            }
            guard let file = BackupFile(bytes: bytes) else { throw .backupDamaged("its beginning") }
            return VaultBackup(file: file, path: path)
        }
    }

    /// The folder of a path, and the name in it.
    static func split(_ path: String) throws(VaultError) -> (folder: String, name: String) {
        guard let parts = AbsolutePath.split(path) else { throw .backupUnreadable("\(path) is a directory") }
        return parts
    }

    /// Whether the vault that stands at a path is this one; `nil` if none does.
    ///
    /// - Throws: ``VaultError`` when something else is in the way.
    public func isOfVault(at directory: String, stateDirectory: String) throws(VaultError) -> Bool? {
        do throws(VaultError) {
            let path = AbsolutePath.make(directory)
            let state = AbsolutePath.make(stateDirectory)
            return try VaultDirectory.open(path: path, stateDirectory: state).1 == file.identity
        } catch {
            switch error {
            case .doesNotExist, .wasHereButIsEmpty, .incomplete: return nil
            default: throw error
            }
        }
    }

    /// The vault key, from the slots in front; slow by design.
    private func key(_ secret: PortableSecret) throws(VaultError) -> SymmetricKey {
        guard file.slots.contains(where: { $0.kind == secret.kind }) else { throw .noSuchSlot }
        for slot in file.slots where slot.kind == secret.kind {
            do {
                if let key = try slot.open(with: secret) { return key }
            } catch {
                throw .outOfMemory
            }
        }
        throw .wrongSecret
    }

    private func entries(_ key: SymmetricKey) throws(VaultError) -> [BackupFile.Entry] {
        guard let entries = file.open(key: key) else { throw .backupDamaged("its content") }
        return entries
    }

    /// Puts the vault where none is, with a new PIN for this device.
    ///
    /// - Parameter forgettingSeen: Whether a memory of the vault that can't be read is given up; it may be under a key
    ///   that came after the backup.
    /// - Throws: ``VaultError``; ``VaultError/memoryUnreadable(path:)``. What was put there before a failure does no
    ///   harm, and doing it again goes on.
    public func restore(
        to directory: String,
        stateDirectory: String,
        secret: PortableSecret,
        pin: PIN,
        forgettingSeen: Bool = false
    ) async throws(VaultError) -> Vault {
        try await restore(
            to: directory,
            stateDirectory: stateDirectory,
            secret: secret,
            pin: pin,
            forgettingSeen: forgettingSeen,
            scrypt: .standard,
            clock: .realtime
        )
    }

    func restore(
        to directory: String,
        stateDirectory: String,
        secret: PortableSecret,
        pin: PIN,
        forgettingSeen: Bool = false,
        scrypt: Scrypt,
        clock: WallClock
    ) async throws(VaultError) -> Vault {
        guard pin.isLongEnough else { throw .pinTooShort }
        guard try isOfVault(at: directory, stateDirectory: stateDirectory) == nil else {
            throw .alreadyExists(path: directory)
        }
        let files = try await DedicatedThread.run { () throws(VaultError) in
            let key = try key(secret)
            let entries = try entries(key)
            let path = AbsolutePath.make(directory)
            let opened = try Self.makeDirectory(path)
            // vault.json comes last: until it is there, nobody takes this for a vault.
            try Self.put(entries, in: opened, strict: true)
            let files = try Vault.join(
                opened,
                file.identity,
                statePath: AbsolutePath.make(stateDirectory),
                key: key,
                pin: pin,
                forgettingSeen: forgettingSeen,
                scrypt: scrypt,
                clock: clock
            )
            // What this device remembers from before may be newer than the backup; a person has chosen the backup.
            // What a server put there under an older key was not chosen.
            try files.accept(key: key, counting: Self.chosen(entries, whileRekeying: false))
            do throws(FileFailure) {
                let name = VaultIdentity.fileName
                try opened.write(name, Array(file.identity.text.utf8), replacing: false)
            } catch {
                throw .cannotWrite("\(path): \(error.words)")
            }
            return files
        }
        return Vault(files: files)
    }

    private static func makeDirectory(_ path: String) throws(VaultError) -> Directory {
        let directory: Directory
        do {
            directory = try Directory.make(path: path)
        } catch {
            throw .cannotWrite("\(path): \(error.words)")
        }
        try VaultDirectory.checkPermissions(of: directory)
        return directory
    }

    /// Adds files that are not there.
    ///
    /// - Parameter strict: Whether a file that differs is refused; else both are kept, as sync tools do.
    /// - Returns: How many were added.
    @discardableResult
    static func put(
        _ entries: [BackupFile.Entry],
        in vault: Directory,
        strict: Bool
    ) throws(VaultError) -> Int {
        var added = 0
        for entry in entries {
            guard let parts = VaultPath(entry.path) else { throw .backupDamaged("a name in it") }
            do {
                var directory = vault
                for folder in parts.folders { directory = try directory.makeSubdirectory(folder) }
                if directory.contains(parts.name) {
                    let there = try? directory.read(parts.name, limit: RecordFile.maximumLength)
                    if there == entry.content { continue }
                    // A history that has gone on since holds all of the backup's.
                    if parts.folders.first == VaultDirectory.usesName, there?.starts(with: entry.content) == true {
                        continue
                    }
                    guard !strict else { throw FileFailure.exists }
                    // Its own name, so that doing this again adds nothing.
                    let copy = parts.name + ".restored-" + Hex.encode(Sealing.checksum(entry.content).prefix(8))
                    guard !directory.contains(copy) else { continue }
                    try directory.write(copy, entry.content, replacing: false)
                } else {
                    try directory.write(parts.name, entry.content, replacing: false)
                }
                added += 1
            } catch let failure as FileFailure {
                throw VaultError.cannotWrite("\(vault.path)/\(entry.path): \(failure.words)")
            } catch {
                throw VaultError.cannotWrite("\(vault.path)/\(entry.path)")
            }
        }
        return added
    }

    /// What counts when a person has chosen a backup with these files.
    static func chosen(_ entries: [BackupFile.Entry], whileRekeying: Bool) -> Records.Counting {
        .chosen(Set(entries.map { Sealing.checksum($0.content) }), whileRekeying: whileRekeying)
    }

    /// The files for a vault of which the key is known; under an older key of the ring too.
    func entries(_ ring: KeyRing) throws(VaultError) -> [BackupFile.Entry] {
        let key = ring.keys.first { KeyID(of: $0, identity: file.identity) == file.keyID }
        guard let key else { throw .rekeyedElsewhere }
        return try entries(key)
    }
}

/// A path inside a vault as only we write it, so that no backup writes anywhere else.
struct VaultPath {
    let folders: [String]
    let name: String

    /// Takes `records/<record>/<revision>`, `slots/<slot>`, `keys/<new>-<old>` and `uses/<device>/<segment>`.
    init?(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard let first = parts.first, let last = parts.last else { return nil }
        let isOurs =
            switch (first, parts.count) {
            case (VaultDirectory.recordsName, 3): RecordID(parts[1]) != nil && Revision.nameKind(last) == .proper
            case (VaultDirectory.slotsName, 2): Hex.decode(last, length: 16, lowercaseOnly: true) != nil
            case (VaultDirectory.keysName, 2):
                last.utf8.count == 65
                    && last.split(separator: "-", omittingEmptySubsequences: false)
                        .allSatisfy { Hex.decode($0, length: 16, lowercaseOnly: true) != nil }
            case (VaultDirectory.usesName, 3):
                Hex.decode(parts[1], length: 8, lowercaseOnly: true) != nil
                    && UInt32(last).map { "\($0)" == last } == true
            default: false
            }
        guard isOurs else { return nil }
        folders = Array(parts.dropLast())
        name = last
    }
}
