// SPDX-License-Identifier: Apache-2.0

internal import HybridDataChannel

/// The reason why a channel ended, as far as this end can determine it.
///
/// A relay forwards the close frame of one end to the other (RFC 6455 §7.4 lists the codes). If an end disappears
/// without a close frame, the relay sends code 1001. Many relays send the same code when they shut down, so the two
/// causes cannot be distinguished. Over L2CAP, the system reports if the peer closed the connection or the link was
/// lost.
public enum ChannelCloseReason: Hashable, Sendable {
    /// The peer sent *shutdown* or closed the channel normally.
    case peerClosed
    /// The peer sent nothing for too long.
    case timedOut
    /// The peer disappeared without a close frame, or the relay is shutting down (code 1001).
    case goneAway
    /// The tunnel was closed with a code for exceeded limits or faults, such as 1008, usually by the relay.
    case closed(code: UInt16)
    /// The connection to the relay or over L2CAP was lost or accepted no more data.
    case connectionLost
    /// This end closed the channel because the peer violated the protocol.
    case protocolViolation

    /// Creates the reason that corresponds to an error; `nil` if the error does not mean that a channel ended.
    init?(_ error: any Error) {
        guard let error = error as? TunnelError else { return nil }
        switch error.closeCode {
        // 1005 stands for a close frame without a code. Codes 3000 to 4999 come from the peer, not from the relay.
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
    /// True if the close code reports a text message or a message that is too long.
    ///
    /// This project's relay sends such a code only to the end that sent the message; other relays send it to both.
    var reportsBadMessage: Bool { closeCode == 1003 || closeCode == 1009 }
}
