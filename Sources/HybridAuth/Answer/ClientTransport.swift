// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives
internal import HybridSession
internal import Synchronization

/// The transport that the other device uses, as shown in prompts; it is known once that device has connected.
final class ClientTransport: Sendable {
    private let relay: String
    private let isL2CAP = Atomic(false)

    /// Creates a transport through a relay, which ``update(_:)`` may replace.
    init(relay: String) { self.relay = relay }

    /// Records the transport of the verified client.
    func update(_ event: AuthenticatorEvent) {
        if case .clientVerified(over: .l2cap) = event { isL2CAP.store(true, ordering: .relaxed) }
    }

    /// The kind of the transport.
    var kind: DataChannelKind { isL2CAP.load(ordering: .relaxed) ? .l2cap : .webSocket }

    /// The member of a question that names the transport.
    var member: (String, JSONText) {
        kind == .l2cap ? ("bluetooth", .boolean(true)) : ("relay", .string(relay))
    }

    /// The phrase that follows "Asked" in a prompt.
    var phrase: String { kind == .l2cap ? "by Bluetooth alone" : "through the relay \(relay)" }
}
