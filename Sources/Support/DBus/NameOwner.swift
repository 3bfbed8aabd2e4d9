// SPDX-License-Identifier: Apache-2.0

internal import HybridThreads

extension BusConnection {
    /// Subscribes to the signals of the current owner of a well-known name.
    ///
    /// The sender is compared before the observer is called, so that an observer may have a bounded buffer: any program
    /// can send signals to this connection, and would push the owner's out.
    ///
    /// - Parameters:
    ///   - name: The well-known name.
    ///   - rules: Match rules for the signals.
    ///   - observer: Called as that of `observe`.
    package func observeOwner(
        of name: String,
        _ rules: [String],
        _ observer: @escaping @Sendable (Event) -> Void
    ) async throws(BusError) -> Observation {
        let owner = Locked(try await self.owner(of: name))
        let changes = BusNames.ownerChanges + ",arg0='\(name)'"
        let observation = try await observe(rules + [changes]) { event in
            if case .signal(let message) = event {
                if let change = message.ownerChange {
                    if change.name == name { owner.withLock { $0 = change.owner } }
                    return
                }
                guard message.sender == owner.withLock({ $0 }) else { return }
            }
            observer(event)
        }
        do throws(BusError) {
            // It may have changed before the subscription.
            let current = try await self.owner(of: name)
            owner.withLock { $0 = current }
        } catch {
            stopObserving(observation)
            throw error
        }
        return observation
    }
}

extension BusNames {
    /// The match rule for all changes of the owners of names.
    package static let ownerChanges =
        "type='signal',sender='\(daemon)',interface='\(daemon)',member='NameOwnerChanged'"
}

extension BusMessage {
    /// The new owner of a name, empty if there is none, as the bus daemon reports it; `nil` for any other message.
    package var ownerChange: (name: String, owner: String)? {
        guard sender == BusNames.daemon, isSignal(BusNames.daemon, "NameOwnerChanged"), body.count == 3,
            let name = body[0].text, let owner = body[2].text
        else { return nil }
        return (name, owner)
    }
}
