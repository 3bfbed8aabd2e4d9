// SPDX-License-Identifier: Apache-2.0

/// How an end broke the rules of RFC 6455 §5 or of tunnels.
public enum FrameViolation: Error, Hashable, Sendable, CaseIterable {
    /// A reserved bit was set though no extension was agreed on (§5.2).
    case reservedBits
    /// An opcode that has no meaning (§5.2).
    case unknownOpcode
    /// The payload was not masked, as a client's must be (§5.1).
    case unmasked
    /// A control frame came in pieces (§5.5).
    case fragmentedControl
    /// A control frame's payload had more than 125 bytes (§5.5).
    case oversizedControl
    /// A length was not written in the shortest way, or has its highest bit set (§5.2).
    case malformedLength
    /// A continuation without a message to continue (§5.4).
    case strayContinuation
    /// A new message before the last one was complete (§5.4).
    case interruptedMessage
    /// A close frame with a payload of one byte, or with a code that must not be sent (§7.4).
    case malformedClose
    /// A close frame whose reason is not UTF-8 (§8.1).
    case malformedReason
    /// A text message: tunnels carry binary messages only.
    case text
    /// A message larger than the relay carries.
    case oversizedMessage

    /// The code that tells the offender.
    public var closeCode: CloseCode {
        switch self {
        case .text: .unsupportedData
        case .malformedReason: .invalidData
        case .oversizedMessage: .messageTooBig
        default: .protocolError
        }
    }
}
