// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridCTAP
package import HybridCredentialExchange
internal import HybridPrimitives
internal import HybridThreads

/// The result of an import.
package struct PasskeyImport: Equatable, Sendable {
    /// Number of added passkeys.
    package let added: Int
    /// Passkeys that were already in the vault or appear again in the file, in the order of the file.
    package let present: [PasskeyLabel]
    /// Passkeys with the site and ID of an existing one, or of an earlier one in the file, but a different key or secret.
    package let different: [PasskeyLabel]
}

extension ExchangeFile {
    /// Reads a document or an archive of at most 16 MiB.
    ///
    /// - Throws: ``VaultError/importUnreadable(_:)`` or ``VaultError/importInvalid(_:)``.
    package static func read(_ path: String) async throws(VaultError) -> ExchangeFile {
        try await DedicatedThread.run { () throws(VaultError) in
            guard let (folder, name) = AbsolutePath.split(path) else {
                throw .importUnreadable("\(path) is a directory")
            }
            let bytes = try accessing(path, orThrow: VaultError.importUnreadable) { () throws(FileError) in
                try Directory.open(path: folder).read(name, limit: ExchangeFormat.maximumLength)
            }
            do throws(ParseError) {
                return try ExchangeFile(bytes, checking: PasskeyBody.check)
            } catch {
                throw .importInvalid(error.reason)
            }
        }
    }
}

extension UnlockedVault {
    /// Adds the passkeys of a file that are not in the vault; existing ones are never changed.
    ///
    /// The passkeys are durable when this method returns. Passkeys added before a failure are kept, and a second call
    /// adds the rest.
    ///
    /// - Throws: ``VaultError``; after ``VaultError/changeNotRecorded(_:)`` all are durable.
    package func add(_ file: ExchangeFile) async throws(VaultError) -> PasskeyImport {
        do throws(VaultError) {
            let result = try await perform { key, files throws(VaultError) in try files.add(file.passkeys, key: key) }
            if result.added > 0 { setBackedUp(false) }
            return result
        } catch {
            setBackedUp(false)
            throw error
        }
    }
}

extension VaultFiles {
    func add(_ passkeys: [ExchangedPasskey], key: SymmetricKey) throws(VaultError) -> PasskeyImport {
        let addition = try add(passkeys, isWhole: false, key: key)
        return PasskeyImport(
            added: addition.added.count,
            present: addition.present.map(\.label),
            different: addition.different.map(\.label)
        )
    }

    /// Passkeys from elsewhere, by what became of them.
    struct Addition {
        /// Passkeys that are durable now.
        fileprivate(set) var added: [ExchangedPasskey] = []
        /// Passkeys that were in the vault, or appeared earlier among the others, with the same key and secrets.
        fileprivate(set) var present: [ExchangedPasskey] = []
        /// Passkeys whose site and ID another passkey has, with a different key or without their secrets.
        fileprivate(set) var different: [ExchangedPasskey] = []
    }

    /// Adds passkeys that are not in the vault; existing ones are never changed.
    ///
    /// - Parameters:
    ///   - passkeys: The passkeys.
    ///   - isWhole: True to add none of them if one cannot be written; otherwise those before it stay.
    ///   - key: The vault key.
    func add(
        _ passkeys: [ExchangedPasskey],
        isWhole: Bool,
        key: SymmetricKey
    ) throws(VaultError) -> Addition {
        let records = try records(key: key)
        let present = records.byPasskey
        var known: [ExchangedPasskey.ID: PasskeyBody] = [:]
        var addition = Addition()
        for passkey in passkeys {
            if let other = known[passkey.id] ?? present[passkey.id].flatMap(records.reveal) {
                if other.includes(passkey) {
                    addition.present.append(passkey)
                } else {
                    addition.different.append(passkey)
                }
                continue
            }
            known[passkey.id] = PasskeyBody(passkey, order: 0, now: 0)
            addition.added.append(passkey)
        }
        let new = addition.added
        guard records.all.count + new.count <= VaultRecords.maximumCount else {
            throw .tooLarge(
                "it would have \(VaultRecords.maximumCount) records, deleted ones included; nothing was added"
            )
        }
        let device = try state.device().id
        var seen = try state.seen(VaultKeyRing(key))
        var order = records.passkeys.first?.body.order ?? 0
        var written: [RecordFile] = []
        do throws(VaultError) {
            for passkey in new {
                order = order == .max ? order : order + 1
                let id = recordID(for: passkey.id, besides: records, key: key)
                let revision = try revision(of: id, after: nil, device: device)
                let members = PasskeyBody(passkey, order: order, now: location.clock.now()).members
                let body = RecordBody(kind: RecordBody.passkey, members: members)
                let file = try seal(body, id: id, revision: revision, key: key)
                try write(file)
                written.append(file)
                seen.insert(id, newest: revision, isDeleted: false)
            }
        } catch {
            if isWhole { removeUnseen(written) }
            throw error
        }
        if !new.isEmpty { try record(seen, key: key) }
        return addition
    }

    /// Removes files that are not in the record of seen revisions, as far as the disk allows.
    private func removeUnseen(_ files: [RecordFile]) {
        guard let records = try? directory.subdirectory(VaultDirectory.recordsName) else { return }
        for file in files {
            guard let record = try? records.subdirectory(file.id.description) else { continue }
            try? record.remove([file.revision.fileName])
        }
    }

    /// Returns the record ID of an imported passkey, which is the same on all devices.
    ///
    /// Two devices that import the same file before they sync therefore create the same records. A server that knows
    /// credential IDs cannot compute the record IDs, because these depend on the vault key.
    ///
    /// A deleted record stays deleted, so a passkey that is imported again gets the next ID.
    private func recordID(
        for passkey: ExchangedPasskey.ID,
        besides records: VaultRecords,
        key: SymmetricKey
    ) -> RecordID {
        for attempt in 0..<Self.maximumDeletions {
            var info = Array("imported v1".utf8)
            info.append(bigEndian: UInt32(attempt))
            info += Array(passkey.relyingParty.text.utf8) + [0] + passkey.credential.bytes
            let derived = Sealing.derive(key, identity: identity, info: info)
            let id = derived.withUnsafeBytes { RecordID(checked: $0.prefix(RecordID.length)) }
            if records.all[id] == nil { return id }
        }
        return .random()
    }

    private static let maximumDeletions = 64
}

extension VaultRecords {
    /// The record of each passkey.
    var byPasskey: [ExchangedPasskey.ID: RecordID] {
        var records: [ExchangedPasskey.ID: RecordID] = [:]
        for (record, body) in passkeys {
            guard let party = body.relyingParty, let id = body.id else { continue }
            records[ExchangedPasskey.ID(relyingParty: party, credential: id)] = record
        }
        return records
    }
}
