// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Synchronization

/// Passkeys in memory, behind a PIN, with faults on demand.
final class MemoryStore: CredentialStore, Sendable {
    static let rightPIN = "2468"

    struct Faults: Sendable {
        /// Thrown in turn by unlocking, before any PIN is looked at.
        var unlock: [UnlockFailure] = []
        var look: StoreFailure?
        var add: StoreFailure?
        var delete: StoreFailure?
        var note: StoreFailure?
        /// Called with the PIN accepted, before the store is handed out.
        var whileUnlocking: (@Sendable () async -> Void)?
    }

    private struct State {
        var passkeys: [Passkey] = []
        var faults = Faults()
        var attemptsLeft = 8
    }

    private let state = Mutex(State())
    private let journal: Journal
    private let isBackedUp: Bool

    init(_ journal: Journal, isBackedUp: Bool = false) {
        self.journal = journal
        self.isBackedUp = isBackedUp
    }

    /// Every passkey, the last created first.
    var passkeys: [Passkey] { state.withLock { $0.passkeys } }

    func put(_ passkey: Passkey) { state.withLock { $0.passkeys.insert(passkey, at: 0) } }
    func fail(_ change: @Sendable (inout Faults) -> Void) { state.withLock { change(&$0.faults) } }

    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        let scripted = state.withLock { $0.faults.unlock.isEmpty ? nil : $0.faults.unlock.removeFirst() }
        if let scripted { throw scripted }
        let isRight = pin.withUnsafeBytes { $0.elementsEqual(Self.rightPIN.utf8) }
        guard isRight else {
            journal.note(.refusedPIN)
            throw .wrongPIN(
                attemptsLeft: state.withLock { state in
                    state.attemptsLeft -= 1
                    return state.attemptsLeft
                }
            )
        }
        journal.note(.opened)
        await state.withLock { $0.faults.whileUnlocking }?()
        return Opened(store: self, isBackedUp: isBackedUp)
    }

    private final class Opened: UnlockedCredentialStore {
        let isBackedUp: Bool
        private let store: MemoryStore
        private let isLocked = Mutex(false)

        init(store: MemoryStore, isBackedUp: Bool) {
            self.store = store
            self.isBackedUp = isBackedUp
        }

        func passkeys(for relyingParty: RelyingPartyID) async throws(StoreFailure) -> [Passkey] {
            if isLocked.withLock({ $0 }) { throw .locked }
            store.journal.note(.looked(relyingParty))
            if let fault = store.state.withLock({ $0.faults.look }) { throw fault }
            return store.passkeys.filter { $0.relyingParty == relyingParty }
        }

        func add(_ passkey: Passkey) async throws(StoreFailure) {
            if isLocked.withLock({ $0 }) { throw .locked }
            if let fault = store.state.withLock({ $0.faults.add }) { throw fault }
            store.journal.note(.added(passkey.id))
            store.put(passkey)
        }

        func delete(
            _ credentials: [CredentialID],
            of relyingParty: RelyingPartyID
        ) async throws(StoreFailure) {
            if isLocked.withLock({ $0 }) { throw .locked }
            if let fault = store.state.withLock({ $0.faults.delete }) { throw fault }
            store.journal.note(.deleted(credentials))
            store.state.withLock { state in
                state.passkeys.removeAll { $0.relyingParty == relyingParty && credentials.contains($0.id) }
            }
        }

        func record(_ request: ServedRequest) async throws(StoreFailure) {
            if isLocked.withLock({ $0 }) { throw .locked }
            if let fault = store.state.withLock({ $0.faults.note }) { throw fault }
            store.journal.note(.noted(request))
        }

        func lock() async {
            isLocked.withLock { $0 = true }
            store.journal.note(.locked)
        }
    }
}
