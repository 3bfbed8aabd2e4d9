// SPDX-License-Identifier: Apache-2.0

/// An ordered channel for messages between client and authenticator.
///
/// The channel does not interpret messages. There are two implementations: ``WebSocketTunnel`` through a relay, and
/// ``L2CAPChannel`` over Bluetooth alone. A WebSocket marks the end of each message, but in an L2CAP stream the end is
/// ambiguous. So a receiver is *offered* bytes and accepts or rejects them. A WebSocket offers exactly one candidate
/// for each message, and a rejection is an error. L2CAP offers one candidate for each possible end.
public protocol MessageChannel: Sendable {
    /// Sends one message; returns when there is room for the next.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    func send(_ message: WireMessage) async throws

    /// Waits for the next message for which `accept` returns a value, and returns that value.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    func receive<Accepted: Sendable>(accept: @Sendable (WireMessage) -> Accepted?) async throws -> Accepted
}

/// One message as the transport carries it, at most 1 MiB.
public struct WireMessage: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a message from its bytes, which are not checked.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}
