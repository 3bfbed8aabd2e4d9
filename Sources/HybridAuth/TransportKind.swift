// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridSession
internal import Synchronization

/// By which way the other device asks, for questions that tell their reader; known once it has come.
final class TransportKind: Sendable {
    private let relay: String
    private let isByRadio = Atomic(false)

    /// A way that leads through a relay, as long as nothing else is noted.
    init(relay: String) { self.relay = relay }

    /// Notes the way that a client came.
    func note(_ event: AuthenticatorEvent) {
        if case .clientVerified(over: .l2cap) = event { isByRadio.store(true, ordering: .relaxed) }
    }

    /// The way.
    var kind: DataChannelKind { isByRadio.load(ordering: .relaxed) ? .l2cap : .webSocket }

    /// The words behind "asked".
    var words: String { kind == .l2cap ? "by Bluetooth alone" : "through the relay \(relay)" }
}
