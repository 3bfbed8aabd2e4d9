// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Synchronization

/// The prompts and store operations, in order.
final class EventLog: Sendable {
    enum Event: Equatable, Sendable {
        case askedPIN(RequestedOperation, PINProblem?)
        case opened
        case refusedPIN
        case searched(RelyingPartyID)
        case confirmed(UserEntity, RelyingPartyID, replacing: [UserEntity] = [])
        case chose([UserEntity], RelyingPartyID)
        case notified(Notice, RelyingPartyID)
        case added(CredentialID)
        case deleted([CredentialID])
        case recorded(UsageEntry)
        case locked
    }

    private let list = Mutex<[Event]>([])

    var events: [Event] { list.withLock { $0 } }

    func record(_ event: Event) { list.withLock { $0.append(event) } }
    func clear() { list.withLock { $0 = [] } }

    /// Number of times that the store was unlocked and not locked again.
    var openStores: Int { events.count { $0 == .opened } - events.count { $0 == .locked } }
}
