// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP

/// A store that keeps passkeys in memory, and optionally in a file for the next run.
actor MemoryCredentialStore: CredentialStore {
    private let pin: PIN
    private let file: PasskeyFile?
    /// The lock of the file, without which two phones would overwrite each other's passkeys.
    private var lock: PrivateFile.Lock?
    private var passkeys: [Passkey] = []
    private var writeFailure: String?

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - pin: The PIN that unlocks the store.
    ///   - file: The file that stores the passkeys between runs; `nil` for none.
    /// - Throws: ``CommandFailure`` if the file cannot be read or created, or another phone uses it.
    init(pin: PIN, file: PasskeyFile? = nil) throws {
        self.pin = pin
        self.file = file
        if let file { (lock, passkeys) = try file.open() }
    }

    /// Returns the reason why writing the file has failed since the last call; `nil` if it has not failed.
    func takeWriteFailure() -> String? {
        defer { writeFailure = nil }
        return writeFailure
    }

    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        guard pin == self.pin else { throw .wrongPIN(attemptsLeft: Authenticator.pinAttempts) }
        return Opened(store: self)
    }

    fileprivate func matching(_ relyingParty: RelyingPartyID) -> [Passkey] {
        passkeys.reversed().filter { $0.relyingParty == relyingParty }
    }

    fileprivate func append(_ passkey: Passkey) throws(StoreFailure) { try replace(passkeys + [passkey]) }

    fileprivate func remove(_ credentials: [CredentialID], of relyingParty: RelyingPartyID) throws(StoreFailure) {
        try replace(passkeys.filter { $0.relyingParty != relyingParty || !credentials.contains($0.id) })
    }

    private func replace(_ new: [Passkey]) throws(StoreFailure) {
        do throws(StoreFailure) {
            lock = try file?.write(new)
        } catch {
            if error.kind == .notWritten { writeFailure = error.sentence }
            throw error
        }
        passkeys = new
    }

    private actor Opened: UnlockedCredentialStore {
        private var store: MemoryCredentialStore?

        init(store: MemoryCredentialStore) { self.store = store }

        func passkeys(for relyingParty: RelyingPartyID) async throws(StoreFailure) -> [Passkey] {
            guard let store else { throw .locked }
            return await store.matching(relyingParty)
        }

        func add(_ passkey: Passkey) async throws(StoreFailure) {
            guard let store else { throw .locked }
            try await store.append(passkey)
        }

        func delete(_ credentials: [CredentialID], of relyingParty: RelyingPartyID) async throws(StoreFailure) {
            guard let store else { throw .locked }
            try await store.remove(credentials, of: relyingParty)
        }

        /// Does nothing: the lab keeps no usage history.
        func record(_ request: UsageEntry) async throws(StoreFailure) {}

        nonisolated var isBackedUp: Bool { false }

        func lock() async { store = nil }
    }
}
