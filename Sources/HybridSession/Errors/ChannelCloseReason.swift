// SPDX-License-Identifier: Apache-2.0

internal import HybridDataChannel

/// The reason why a channel ended, as far as this end can know.
///
/// A relay forwards the close frame of one end to the other (RFC 6455 §7.4 lists the codes). If an end disappears without
/// one, relays send 1001. Many relays send the same code when they shut down, so the two cannot be distinguished. Over
/// L2CAP the system reports whether the peer closed the connection or the link was lost.
public enum ChannelCloseReason: Hashable, Sendable {
    /// The peer finished: it sent *shutdown* or closed the channel.
    case peerClosed
    /// The peer sent nothing for too long.
    case timedOut
    /// The peer or the relay went away without a close frame (code 1001).
    case goneAway
    /// The tunnel was closed with a code for limits and faults, such as 1008; usually by the relay.
    case closed(code: UInt16)
    /// The connection was lost, or accepted no more data: to the relay, or over L2CAP.
    case connectionLost
    /// This end closed the channel because the peer broke the protocol.
    case protocolViolation

    /// Creates the reason that an error stands for; `nil` if the error does not end a channel.
    init?(_ error: any Error) {
        guard let error = error as? TunnelError else { return nil }
        switch error.closeCode {
        // 1005 means a close frame without a code; programs, not relays, use 3000 to 4999.
        case 1000, 1005, .some(3000...4999): self = .peerClosed
        case 1001: self = .goneAway
        case let code?: self = .closed(code: code)
        case nil:
            guard error == .connectionLost || error == .stalled else { return nil }
            self = .connectionLost
        }
    }
}

extension TunnelError {
    /// True if the close code reports a text message or one that is too long.
    ///
    /// This project's relay sends such a code only to the end that sent the message; other relays send it to both.
    var reportsBadMessage: Bool { closeCode == 1003 || closeCode == 1009 }
}
