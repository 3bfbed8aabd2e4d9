// SPDX-License-Identifier: Apache-2.0

/// How messages travel between the two ends of a ceremony, once they found each other.
///
/// The channel keeps order and knows nothing of keys or commands. There are two: ``WebSocketTunnel`` through a relay, and
/// ``L2CAPChannel`` by Bluetooth alone. They differ in one thing: a WebSocket says where a message ends, an L2CAP stream
/// only hints at it. So a receiver is *offered* bytes and takes or refuses them: the WebSocket offers exactly one
/// candidate for each message, and a refusal ends the channel; L2CAP offers one for each possible end.
public protocol MessageChannel: Sendable {
    /// Sends one message; returns when there is room for the next.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    func send(_ message: WireMessage) async throws

    /// Waits for the next message that `accept` takes; its result is returned.
    ///
    /// - Throws: ``TunnelError``, `CancellationError`.
    func receive<Accepted: Sendable>(accept: @Sendable (WireMessage) -> Accepted?) async throws -> Accepted
}

/// One message as it travels, at most 1 MiB.
public struct WireMessage: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Takes the bytes as they are.
    public init(bytes: [UInt8]) { self.bytes = bytes }
}
