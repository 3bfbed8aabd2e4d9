// SPDX-License-Identifier: Apache-2.0

internal import HybridDataChannel

/// How a channel ended under a ceremony, as far as this end can know.
///
/// A relay passes the close frame of one end on to the other (RFC 6455 §7.4 has its codes). Where an end goes away without
/// one, relays say 1001, and many say the same when they go down themselves; so these two can't be told apart. By
/// Bluetooth alone the system says who ended the connection, or that it broke.
public enum ChannelCloseReason: Hashable, Sendable {
    /// The other end is done: it said so, or closed the channel.
    case goodbye
    /// The other end said nothing for too long.
    case silence
    /// The other end went away without a word, or the relay did (code 1001).
    case goneAway
    /// The tunnel was closed with a code for limits and faults, such as 1008, which mostly are the relay's.
    case closed(code: UInt16)
    /// The connection broke, or took nothing more: to the relay, or by Bluetooth.
    case broken
    /// What came broke the protocol, so that this end left.
    case garbled

    /// What an error says about it; `nil` for one that does not end a channel.
    init?(_ error: any Error) {
        switch error as? TunnelError {
        // 1005 stands for a close frame without a code; 3000 to 4999 are given out to programs, not to relays.
        case .closed(code: 1000), .closed(code: 1005), .closed(code: 3000...4999): self = .goodbye
        case .closed(code: 1001): self = .goneAway
        case .closed(let code): self = .closed(code: code)
        case .connectionLost, .stalled: self = .broken
        default: return nil
        }
    }
}
