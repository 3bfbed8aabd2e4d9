// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridPrimitives
internal import HybridThreads

/// What became of the passkeys of a file.
public struct PasskeyImport: Equatable, Sendable {
    /// How many were added.
    public let added: Int
    /// How many were here already, or twice in the file.
    public let present: Int
    /// How many have the site and the ID of one that is here, or came before in the file, and another key.
    public let different: Int

    init(added: Int, present: Int, different: Int = 0) {
        self.added = added
        self.present = present
        self.different = different
    }
}

extension ExchangeFile {
    /// Reads a document of at most 16 MiB.
    ///
    /// - Throws: ``VaultError/exchangeUnreadable(_:)`` or ``VaultError/exchangeDamaged(_:)``.
    public static func read(_ path: String) async throws(VaultError) -> ExchangeFile {
        try await DedicatedThread.run { () throws(VaultError) in
            guard let (folder, name) = AbsolutePath.split(path) else {
                throw .exchangeUnreadable("\(path) is a directory")
            }
            let bytes: [UInt8]
            do throws(FileFailure) {
                bytes = try Directory.open(path: folder).read(name, limit: ExchangeFormat.maximumLength)
            } catch {
                throw .exchangeUnreadable("\(path): \(error.words)")
            }
            do throws(Refusal) {
                return try ExchangeFile(json: bytes)
            } catch {
                throw .exchangeDamaged(error.words)
            }
        }
    }
}

extension UnlockedVault {
    /// Adds the passkeys of a file that are not in the vault; what is there is never changed.
    ///
    /// They are durable when this returns. What was added before a failure stays, and doing it again goes on.
    ///
    /// - Throws: ``VaultError``.
    public func add(_ file: ExchangeFile) async throws(VaultError) -> PasskeyImport {
        let result = try await perform { key, files throws(VaultError) in try files.add(file.passkeys, key: key) }
        // The new ones are in no backup.
        if result.added > 0 { noteUnsaved() }
        return result
    }
}

extension VaultFiles {
    func add(_ passkeys: [ImportedPasskey], key: SymmetricKey) throws(VaultError) -> PasskeyImport {
        try state.locked { () throws(VaultError) in
            let records = try records(key: key)
            var known: [ImportedPasskey.Name: PasskeyBody] = [:]
            for (_, body) in records.passkeys {
                guard let party = body.relyingParty, let id = body.id else { continue }
                known[ImportedPasskey.Name(relyingParty: party, credential: id)] = body
            }
            var new: [ImportedPasskey] = []
            var different = 0
            for passkey in passkeys {
                let body = passkey.body(order: 0, now: 0).members.map { PasskeyBody(members: $0) }
                if let other = known[passkey.name] {
                    if other.passkey?.privateKey.rawRepresentation != body?.passkey?.privateKey.rawRepresentation {
                        different += 1
                    }
                    continue
                }
                known[passkey.name] = body
                new.append(passkey)
            }
            guard records.count + new.count <= Records.maximumCount else {
                throw .tooLarge(
                    "it would have \(Records.maximumCount) records, deleted ones included; nothing was added"
                )
            }
            let device = try state.device().id
            var seen = try state.seen(KeyRing(key))
            var order = records.passkeys.first?.body.order ?? 0
            for passkey in new {
                order = order == .max ? order : order + 1
                let id = recordID(for: passkey.name, besides: records, key: key)
                let revision = Revision(counter: 1, device: device)
                let body = passkey.body(order: order, now: clock.now())
                guard let file = RecordFile(sealing: body, id: id, revision: revision, key: key, identity: identity)
                else { throw .tooLarge("a record would be longer than 256 KiB") }
                try place(file)
                seen.note(id, newest: revision, isDeleted: false)
            }
            // Durable already; if the memory of it can't be written, the next unlocking does it.
            if !new.isEmpty { try? state.write(seen, key: key) }
            return PasskeyImport(
                added: new.count,
                present: passkeys.count - new.count - different,
                different: different
            )
        }
    }

    /// The name of a record for an imported passkey: the same on all devices.
    ///
    /// So two that import one file before they hear of each other have one record of each passkey, not two. A server that
    /// knows credential IDs can't tell the names, because the vault key is in them.
    ///
    /// A deleted record stays deleted, so a passkey that is imported after that gets the next name.
    private func recordID(for name: ImportedPasskey.Name, besides records: Records, key: SymmetricKey) -> RecordID {
        for attempt in 0..<Self.mostDeletions {
            var info = Array("imported v1".utf8)
            info.append(bigEndian: UInt32(attempt))
            info += Array(name.relyingParty.text.utf8) + [0] + name.credential.bytes
            let derived = Sealing.derive(key, identity: identity, info: info)
            let bytes = derived.withUnsafeBytes { Array($0.prefix(16)) }
            if let id = RecordID(bytes: bytes), records.all[id] == nil { return id }
        }
        return .random()
    }

    private static let mostDeletions = 64
}
