// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP

/// Passkeys that are gone when the lab ends, or lie in a file for its next run.
actor MemoryCredentialStore: CredentialStore {
    private let pin: PIN
    private let file: PasskeyFile?
    /// Two phones that both rewrite one file would lose what the other has added.
    private var claim: FileOwnership?
    private var passkeys: [Passkey] = []
    private var unwritten: String?

    /// - Parameter file: Where they lie between runs.
    /// - Throws: ``CommandFailure`` if there is such a file and it can't be read, or another phone has it, or there is
    ///   none and it can't be made.
    init(pin: PIN, file: PasskeyFile? = nil) throws {
        self.pin = pin
        self.file = file
        claim = try file?.claim()
        passkeys = try file?.read() ?? []
    }

    /// Why the file could not be written since this was asked before; `nil` if it could.
    func takeUnwritten() -> String? {
        defer { unwritten = nil }
        return unwritten
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
            claim = try file?.write(new)
        } catch {
            if error.kind == .notWritten { unwritten = error.sentence }
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

        func delete(
            _ credentials: [CredentialID],
            of relyingParty: RelyingPartyID
        ) async throws(StoreFailure) {
            guard let store else { throw .locked }
            try await store.remove(credentials, of: relyingParty)
        }

        /// The lab keeps no history.
        func record(_ request: ServedRequest) async throws(StoreFailure) {}

        nonisolated var isBackedUp: Bool { false }

        func lock() async { store = nil }
    }
}
