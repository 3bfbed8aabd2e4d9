// SPDX-License-Identifier: Apache-2.0

/// An ordered channel for messages between client and authenticator.
///
/// The channel knows nothing of keys or commands. There are two: ``WebSocketTunnel`` through a relay, and
/// ``L2CAPChannel`` over Bluetooth alone. A WebSocket marks where a message ends; an L2CAP stream only hints at it. So
/// a receiver is *offered* bytes and accepts or rejects them. The WebSocket offers exactly one candidate for each
/// message, and a rejection ends the channel; L2CAP offers one candidate for each possible end.
public protocol MessageChannel: Sendable {
    /// Sends one message; returns when there is room for the next.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    func send(_ message: WireMessage) async throws

    /// Waits for the next message that `accept` takes, and returns its result.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    func receive<Accepted: Sendable>(accept: @Sendable (WireMessage) -> Accepted?) async throws -> Accepted
}

/// One message as it travels, at most 1 MiB.
public struct WireMessage: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a message from its bytes, which are not checked.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}
