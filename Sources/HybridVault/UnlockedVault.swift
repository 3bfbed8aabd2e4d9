// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridAuthenticator
public import HybridCTAP
internal import HybridPrimitives
internal import HybridThreads

/// A vault that the PIN has opened, for one request; ``lock()`` drops the key.
///
/// Every call reads and verifies the files anew, so that what a sync tool brings meanwhile is judged as strictly
/// as what was there before.
public actor UnlockedVault: UnlockedCredentialStore {
    /// Files that were left alone, and passkeys that this version can't use.
    public nonisolated let notes: [VaultNote]
    /// Whether every passkey stands in the last backup as it is now.
    public nonisolated var isBackedUp: Bool { backedUp.withLock { $0 } }

    nonisolated let files: VaultFiles
    private let failure: FailureBox
    private let backedUp: Locked<Bool>
    private var key: SymmetricKey?

    init(
        files: VaultFiles,
        key: SymmetricKey,
        notes: [VaultNote],
        failure: FailureBox,
        isBackedUp: Bool = false
    ) {
        self.files = files
        self.key = key
        self.notes = notes
        self.failure = failure
        self.backedUp = Locked(isBackedUp)
    }

    /// Every passkey of a relying party, the last created first.
    public func passkeys(for relyingParty: RelyingPartyID) async throws(StoreFailure) -> [Passkey] {
        try await asStore(otherwise: StoreFailure.damaged) { key, files throws(VaultError) in
            try files.load(key: key).passkeys.filter { $0.body.relyingParty == relyingParty }.compactMap(\.body.passkey)
        }
    }

    /// Keeps a new passkey beside all others; it is durable when this returns.
    public func add(_ passkey: Passkey) async throws(StoreFailure) {
        // The new one is in no backup.
        backedUp.withLock { $0 = false }
        try await asStore(otherwise: StoreFailure.notWritten) { key, files throws(VaultError) in
            let created = files.clock.now()
            try files.write(key: key) { records in
                let highest = records.passkeys.first?.body.order ?? 0
                let order = highest == .max ? highest : highest + 1
                let body = PasskeyBody(passkey, order: order, created: created)
                return (.random(), RecordBody(kind: RecordBody.passkey, members: body.members))
            }
        }
    }

    /// Deletes passkeys of one relying party on every device, for ever; those that are gone already are passed over.
    ///
    /// Sites choose no credential IDs, but an import may bring the same one for two of them.
    public func delete(
        _ credentials: [CredentialID],
        of relyingParty: RelyingPartyID
    ) async throws(StoreFailure) {
        try await asStore(otherwise: StoreFailure.notWritten) { key, files throws(VaultError) in
            for credential in credentials {
                do throws(VaultError) {
                    try files.write(key: key) { records throws(VaultError) in
                        guard let record = records.passkey(credential, of: relyingParty) else { throw .noSuchRecord }
                        return (record, RecordBody.deletion)
                    }
                } catch .noSuchRecord {
                    continue
                }
            }
        }
    }

    /// Every passkey without its key, the last created first, those that can't be used included.
    ///
    /// - Throws: ``VaultError``.
    public func entries() async throws(VaultError) -> [VaultEntry] {
        try await perform { key, files throws(VaultError) in
            try files.load(key: key).passkeys.map { VaultEntry(record: $0.id, body: $0.body) }
        }
    }

    /// Changes the names of a passkey's account; everything else stays, also what this version does not know.
    ///
    /// - Throws: ``VaultError``.
    public func rename(_ record: RecordID, name: String, displayName: String) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            try files.write(key: key) { records throws(VaultError) in
                guard var body = records.passkeys.first(where: { $0.id == record })?.body else { throw .noSuchRecord }
                body.rename(name: name, displayName: displayName)
                return (record, RecordBody(kind: RecordBody.passkey, members: body.members))
            }
        }
    }

    /// Deletes a passkey on every device, for ever.
    ///
    /// - Throws: ``VaultError``.
    public func delete(_ record: RecordID) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            try files.write(key: key) { records throws(VaultError) in
                guard let found = records.all[record], !found.isDeleted else { throw .noSuchRecord }
                return (record, RecordBody.deletion)
            }
        }
    }

    /// Sets another PIN on this device.
    ///
    /// - Throws: ``VaultError``; then the PIN is what it was.
    public func changePIN(to pin: PIN) async throws(VaultError) {
        try await changePIN(to: pin, scrypt: .standard)
    }

    func changePIN(to pin: PIN, scrypt: Scrypt) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            try files.changePIN(key: key, to: pin, scrypt: scrypt)
        }
    }

    /// Drops the key; every later call throws.
    public func lock() { key = nil }

    /// From now on another key is the vault key.
    func replaceKey(_ new: SymmetricKey) { key = new }

    /// There is something that no backup has.
    func noteUnsaved() { backedUp.withLock { $0 = false } }

    /// A backup has just been written.
    func noteBackup() { backedUp.withLock { $0 = true } }

    /// Does something whose failure is nobody's cause for anything else.
    func besides<Value: Sendable>(
        _ body: () async throws(StoreFailure) -> Value
    ) async throws(StoreFailure) -> Value {
        let before = failure.value
        defer { failure.value = before }
        return try await body()
    }

    /// Does blocking work with the key on a thread of its own.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (SymmetricKey, VaultFiles) throws(VaultError) -> Value
    ) async throws(VaultError) -> Value {
        guard let key else { throw .locked }
        let files = files
        do {
            return try await DedicatedThread.run { () throws(VaultError) in try body(key, files) }
        } catch {
            failure.value = error
            throw error
        }
    }

    /// Damage is damage whatever was tried; of other failures the operation says what they mean.
    func asStore<Value: Sendable>(
        otherwise failure: @Sendable (String, (any Error)?) -> StoreFailure,
        _ body: @escaping @Sendable (SymmetricKey, VaultFiles) throws(VaultError) -> Value
    ) async throws(StoreFailure) -> Value {
        do {
            return try await perform(body)
        } catch {
            switch error {
            case .locked: throw .locked
            case .deletionNotNoted: throw .deletionNotRecorded(error.sentence, underlying: error)
            case .cannotWrite, .tooLarge, .busy: throw failure(error.sentence, error)
            default: throw .damaged(error.sentence, underlying: error)
            }
        }
    }
}

extension UnlockedVault: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public nonisolated var description: String { "UnlockedVault(hidden)" }
    /// The type's name only.
    public nonisolated var debugDescription: String { description }
    /// A mirror without children.
    public nonisolated var customMirror: Mirror { Mirror(self, children: []) }
}
