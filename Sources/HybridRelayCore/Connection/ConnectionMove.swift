// SPDX-License-Identifier: Apache-2.0

/// The move of a client to the event loop of its phone, after its request has been admitted and before it joins.
final class ConnectionMove {
    let destination: LoopMailbox
    let request: UpgradeRequest

    init(to destination: LoopMailbox, _ request: UpgradeRequest) {
        (self.destination, self.request) = (destination, request)
    }
}

/// A connection on its way to another event loop.
struct ConnectionTransfer: @unchecked Sendable {
    // SAFETY of @unchecked: the sender has removed the connection from its event loop and its epoll instance, and does
    // not use it after posting the message. No other connection refers to it, because it has no tunnel yet. The mailbox's
    // lock orders the accesses of the two threads.
    let connection: RelayConnection

    init(_ connection: RelayConnection) { self.connection = connection }
}
