// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import HybridAuthenticator
package import HybridCTAP
internal import HybridPrimitives
internal import HybridThreads

/// A vault that was unlocked with the PIN for one request; ``lock()`` discards the key.
///
/// Every call reads and verifies the files again, so files that a sync tool has changed since then are checked as
/// strictly as during unlocking.
package actor UnlockedVault: UnlockedCredentialStore, SecretMaterial {
    /// Warnings about ignored files and about passkeys that this version cannot use.
    package nonisolated let warnings: [VaultWarning]
    /// True if the last backup contains the current revision of every passkey.
    package nonisolated var isBackedUp: Bool { backedUp.withLock { $0 } }

    nonisolated let files: VaultFiles
    private let backedUp: Locked<Bool>
    private var key: SymmetricKey?

    init(files: VaultFiles, key: SymmetricKey, warnings: [VaultWarning] = [], isBackedUp: Bool = false) {
        self.files = files
        self.key = key
        self.warnings = warnings
        self.backedUp = Locked(isBackedUp)
    }

    /// Returns all passkeys of a relying party: those created here, the newest first, then imported ones.
    ///
    /// The accounts in an imported file were chosen by its author, so they are not offered before the user's own.
    package func passkeys(for relyingParty: RelyingPartyID) async throws(StoreFailure) -> [Passkey] {
        try await performForStore(orThrow: StoreFailure.damaged) { key, files throws(VaultError) in
            let records = try files.records(key: key)
            let passkeys = records.passkeys.filter { $0.body.relyingParty == relyingParty }
            let offered = passkeys.filter { !$0.body.isImported } + passkeys.filter(\.body.isImported)
            // Only these records are decoded with their private keys.
            return offered.compactMap { records.open($0.id) }
        }
    }

    /// Adds a passkey, which is durable when this method returns.
    package func add(_ passkey: Passkey) async throws(StoreFailure) {
        setBackedUp(false)
        try await performForStore(orThrow: StoreFailure.notWritten) { key, files throws(VaultError) in
            let created = files.location.clock.now()
            try files.write(key: key) { records in
                let highest = records.passkeys.first?.body.order ?? 0
                let order = highest == .max ? highest : highest + 1
                let body = PasskeyBody(passkey, order: order, created: created)
                return (.random(), RecordBody(kind: RecordBody.passkey, members: body.members))
            }
        }
    }

    /// Deletes passkeys of one relying party permanently on every device; those that no longer exist are skipped.
    ///
    /// The relying party must match, because imported passkeys of two relying parties may have the same credential ID.
    package func delete(_ credentials: [CredentialID], of relyingParty: RelyingPartyID) async throws(StoreFailure) {
        try await performForStore(orThrow: StoreFailure.notWritten) { key, files throws(VaultError) in
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

    /// Returns a summary of every passkey, the newest first, including those that this version cannot use.
    ///
    /// - Throws: ``VaultError``.
    package func summaries() async throws(VaultError) -> [PasskeySummary] {
        try await perform { key, files throws(VaultError) in
            try files.records(key: key).passkeys.map { PasskeySummary(record: $0.id, body: $0.body) }
        }
    }

    /// Changes only the names of a passkey's account; members that this version does not know are kept.
    ///
    /// - Throws: ``VaultError``.
    package func rename(_ record: RecordID, name: String, displayName: String) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            try files.write(key: key) { records throws(VaultError) in
                guard var body = records.reveal(record) else { throw .noSuchRecord }
                body.rename(name: name, displayName: displayName)
                return (record, RecordBody(kind: RecordBody.passkey, members: body.members))
            }
        }
    }

    /// Deletes a passkey permanently on every device.
    ///
    /// - Throws: ``VaultError``.
    package func delete(_ record: RecordID) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in
            try files.write(key: key) { records throws(VaultError) in
                guard let found = records.all[record], !found.isDeleted else { throw .noSuchRecord }
                return (record, RecordBody.deletion)
            }
        }
    }

    /// Changes the PIN of this device.
    ///
    /// - Throws: ``VaultError``; the PIN is then unchanged.
    package func changePIN(to pin: PIN) async throws(VaultError) {
        try await perform { key, files throws(VaultError) in try files.changePIN(key: key, to: pin) }
    }

    /// Discards the key; every later call throws an error.
    package func lock() { key = nil }

    /// Replaces the key after a rekey.
    func replaceKey(_ new: SymmetricKey) { key = new }

    /// Sets ``isBackedUp``.
    func setBackedUp(_ value: Bool) { backedUp.withLock { $0 = value } }

    /// Runs blocking work with the key on a dedicated thread, while no other process can change the local state.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (SymmetricKey, VaultFiles) throws(VaultError) -> Value
    ) async throws(VaultError) -> Value {
        guard let key else { throw .locked }
        let files = files
        return try await DedicatedThread.run { () throws(VaultError) in
            try files.state.withLock { () throws(VaultError) in try body(key, files) }
        }
    }

    /// Runs blocking work and maps its errors: damage is always reported as damage, a failed write as `failure`.
    func performForStore<Value: Sendable>(
        orThrow failure: @Sendable (String, (any Error)?) -> StoreFailure,
        _ body: @escaping @Sendable (SymmetricKey, VaultFiles) throws(VaultError) -> Value
    ) async throws(StoreFailure) -> Value {
        do {
            return try await perform(body)
        } catch {
            switch error {
            case .locked: throw .locked
            case .changeNotRecorded: throw .additionNotRecorded(error.sentence, underlying: error)
            case .deletionNotRecorded: throw .deletionNotRecorded(error.sentence, underlying: error)
            case .cannotWrite, .tooLarge, .busy: throw failure(error.sentence, error)
            default: throw .damaged(error.sentence, underlying: error)
            }
        }
    }
}

/// A passkey without its private key, for lists.
package struct PasskeySummary: Sendable, Equatable {
    /// ID of the passkey's record.
    package let record: RecordID
    /// Credential ID; `nil` if this version cannot read it.
    package let credential: CredentialID?
    /// Relying party; `nil` if this version cannot read it.
    package let relyingParty: RelyingPartyID?
    /// Account; `nil` if this version cannot read it.
    package let user: UserEntity?
    /// Time of creation in seconds since 1970, by the clock of the device that created it.
    package let created: UInt64
    /// True if the passkey may exist on several devices; false if its creation bound it to one.
    package let isBackupEligible: Bool
    /// True if a client can use the passkey without knowing its ID; false if this version cannot use it.
    package let isDiscoverable: Bool
    /// True if the site has signaled that it no longer accepts the passkey; only sites that name it are offered it.
    package let isHidden: Bool
    /// The only kind of data that the passkey signs; `nil` if it signs any data, or if this version cannot use it.
    package let signedDataKind: SignedDataKind?
    /// True if the passkey supports the `prf` extension; false if this version cannot use it.
    package let hasPRFSecret: Bool
    /// True if this version can sign with the passkey.
    package let isUsable: Bool
    /// True if the passkey is an SSH key: it signs SSH data only, or belongs to OpenSSH.
    package var isSSHKey: Bool { signedDataKind == .ssh || relyingParty?.kind == .ssh }
    /// True if the passkey is an encryption key, which exists for its secret only.
    package var isEncryptionKey: Bool { relyingParty?.isEncryptionKey == true }

    init(record: RecordID, body: PasskeyListing) {
        self.record = record
        self.credential = body.id
        self.relyingParty = body.relyingParty
        self.user = body.user
        self.created = body.created
        self.isBackupEligible = body.isBackupEligible
        self.isDiscoverable = body.isDiscoverable
        self.isHidden = body.isHidden
        self.signedDataKind = body.signedDataKind
        self.hasPRFSecret = body.hasPRFSecret
        self.isUsable = body.isUsable
    }
}

/// A warning about an ignored file in the vault directory, or about an unusable passkey.
package struct VaultWarning: Hashable, Sendable {
    /// Path inside the vault: at most 200 characters, with those that are not printable ASCII replaced by `?`.
    package let path: String
    /// The reason why the file or passkey is not used.
    package let reason: String

    /// The warning about a directory with more files than are read.
    static func excess(in path: String, limit: Int) -> VaultWarning {
        VaultWarning(path: path, reason: "more than \(limit) files; remove those that this program did not write")
    }

    /// Creates a warning; `path` may come from a hostile sync server.
    init(path: String, reason: String) {
        let safe = path.unicodeScalars.map { scalar in
            (0x20...0x7E).contains(scalar.value) ? Character(scalar) : "?"
        }
        self.path = String(safe.prefix(200))
        self.reason = reason
    }
}
