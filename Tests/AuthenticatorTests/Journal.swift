// SPDX-License-Identifier: Apache-2.0

import HybridAuthenticator
import HybridCTAP
import Synchronization

/// What happened to the person and the store, in order.
final class Journal: Sendable {
    enum Event: Equatable, Sendable {
        case askedPIN(RequestedOperation, PINProblem?)
        case opened
        case refusedPIN
        case looked(RelyingPartyID)
        case confirmed(UserEntity, RelyingPartyID, replacing: [UserEntity] = [])
        case chose([UserEntity], RelyingPartyID)
        case told(Notice, RelyingPartyID)
        case added(CredentialID)
        case deleted([CredentialID])
        case noted(ServedRequest)
        case locked
    }

    private let list = Mutex<[Event]>([])

    var events: [Event] { list.withLock { $0 } }

    func note(_ event: Event) { list.withLock { $0.append(event) } }
    func clear() { list.withLock { $0 = [] } }

    /// How often the store was opened and not locked again.
    var openStores: Int { events.count { $0 == .opened } - events.count { $0 == .locked } }
}
