// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Synchronization

/// A store in memory with a PIN and configurable faults.
final class MemoryStore: CredentialStore, Sendable {
    static let rightPIN = "2468"

    struct Faults: Sendable {
        /// Failures of the next unlock attempts, thrown before the PIN is checked.
        var unlock: [UnlockFailure] = []
        var find: StoreFailure?
        var add: StoreFailure?
        var delete: StoreFailure?
        var record: StoreFailure?
        /// Called after the PIN is accepted, before the store is returned.
        var whileUnlocking: (@Sendable () async -> Void)?
    }

    private struct State {
        var passkeys: [Passkey] = []
        var faults = Faults()
        var attemptsLeft = 8
    }

    private let state = Mutex(State())
    private let log: EventLog
    private let isBackedUp: Bool

    init(_ log: EventLog, isBackedUp: Bool = false) {
        self.log = log
        self.isBackedUp = isBackedUp
    }

    /// All passkeys, the newest first.
    var passkeys: [Passkey] { state.withLock { $0.passkeys } }

    func put(_ passkey: Passkey) { state.withLock { $0.passkeys.insert(passkey, at: 0) } }
    func fail(_ change: @Sendable (inout Faults) -> Void) { state.withLock { change(&$0.faults) } }

    func unlock(with pin: PIN) async throws(UnlockFailure) -> any UnlockedCredentialStore {
        let scripted = state.withLock { $0.faults.unlock.isEmpty ? nil : $0.faults.unlock.removeFirst() }
        if let scripted { throw scripted }
        let isRight = pin.withUnsafeBytes { $0.elementsEqual(Self.rightPIN.utf8) }
        guard isRight else {
            log.record(.refusedPIN)
            throw .wrongPIN(
                attemptsLeft: state.withLock { state in
                    state.attemptsLeft -= 1
                    return state.attemptsLeft
                }
            )
        }
        log.record(.opened)
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
            store.log.record(.searched(relyingParty))
            if let fault = store.state.withLock({ $0.faults.find }) { throw fault }
            return store.passkeys.filter { $0.relyingParty == relyingParty }
        }

        func add(_ passkey: Passkey) async throws(StoreFailure) {
            if isLocked.withLock({ $0 }) { throw .locked }
            let fault = store.state.withLock { $0.faults.add }
            if let fault, fault.kind != .additionNotRecorded { throw fault }
            store.log.record(.added(passkey.id))
            store.put(passkey)
            if let fault { throw fault }
        }

        func delete(
            _ credentials: [CredentialID],
            of relyingParty: RelyingPartyID
        ) async throws(StoreFailure) {
            if isLocked.withLock({ $0 }) { throw .locked }
            if let fault = store.state.withLock({ $0.faults.delete }) { throw fault }
            store.log.record(.deleted(credentials))
            store.state.withLock { state in
                state.passkeys.removeAll { $0.relyingParty == relyingParty && credentials.contains($0.id) }
            }
        }

        func record(_ request: UsageEntry) async throws(StoreFailure) {
            if isLocked.withLock({ $0 }) { throw .locked }
            if let fault = store.state.withLock({ $0.faults.record }) { throw fault }
            store.log.record(.recorded(request))
        }

        func lock() async {
            isLocked.withLock { $0 = true }
            store.log.record(.locked)
        }
    }
}
