// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCommandSupport
package import HybridProgram
internal import HybridSSHAgent
internal import HybridThreads

/// The keys and the lock of a running agent, which follow the key store.
package final class SSHKeyRing: Sendable {
    private struct State {
        var agent = AgentState(keys: [])
        var keys: [StoredSSHKey] = []
        var stamp: StateFolder.Stamp?
    }

    private let store: SSHKeyStore
    private let report: @Sendable (String) -> Void
    private let state = Locked(State())

    /// Creates a key ring and reads the store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - report: A closure that receives a sentence each time that the changed store can't be read.
    /// - Throws: ``CommandFailure`` if the store can't be read.
    package init(_ store: SSHKeyStore, report: @escaping @Sendable (String) -> Void) throws(CommandFailure) {
        self.store = store
        self.report = report
        let stamp = store.stamp
        replace(try store.keys(), stamp)
    }

    /// Reads the store again if it has changed; if it can't be read, the previous keys remain.
    func refresh() {
        let stamp = store.stamp
        guard state.withLock({ $0.stamp != stamp }) else { return }
        do throws(CommandFailure) {
            replace(try store.keys(), stamp)
        } catch {
            report(error.sentence)
            // The same file is not read and reported again.
            state.withLock { $0.stamp = stamp }
        }
    }

    /// Calls `body` with exclusive access to keys and lock.
    func withAgent<Result, Failure: Error>(
        _ body: (inout AgentState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) in try body(&state.agent) }
    }

    /// Returns the stored key for a public key; `nil` while the agent is locked, because a request may have waited.
    func key(_ publicKey: SSHPublicKey) -> StoredSSHKey? {
        state.withLock { state in
            state.agent.lock.isLocked ? nil : state.keys.first { $0.publicKey == publicKey }
        }
    }

    /// Returns true if the passkey of an SSH key has this relying party ID.
    func uses(_ relyingParty: RelyingPartyID) -> Bool {
        state.withLock { $0.keys.contains { $0.relyingPartyID == relyingParty } }
    }

    private func replace(_ keys: [StoredSSHKey], _ stamp: StateFolder.Stamp?) {
        state.withLock { state in
            (state.keys, state.stamp) = (keys, stamp)
            state.agent.keys = keys.map(\.agentKey)
        }
    }
}
