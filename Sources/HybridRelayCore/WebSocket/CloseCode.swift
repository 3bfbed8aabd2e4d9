// SPDX-License-Identifier: Apache-2.0

/// A WebSocket close code that may stand in a close frame.
///
/// Source: RFC 6455 §7.4 and IANA's registry; 1004, 1005, 1006 and 1015 are never sent.
public struct CloseCode: RawRepresentable, Hashable, Sendable {
    /// The number, 1000…1014 without the reserved ones, or 3000…4999.
    public let rawValue: UInt16

    /// Takes a number that may be sent; anything else is `nil`.
    public init?(rawValue: UInt16) {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: self.rawValue = rawValue
        default: return nil
        }
    }

    private init(known rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The conversation is done.
    public static let normal = CloseCode(known: 1000)
    /// The other end went away, or the relay is going down.
    public static let goingAway = CloseCode(known: 1001)
    /// The bytes were no WebSocket frames, or not a client's.
    public static let protocolError = CloseCode(known: 1002)
    /// A text message; tunnels carry binary messages only.
    public static let unsupportedData = CloseCode(known: 1003)
    /// Text that is not UTF-8.
    public static let invalidData = CloseCode(known: 1007)
    /// The relay's policy ended the tunnel: a time or volume limit, or a newer tunnel of the same name.
    public static let policyViolation = CloseCode(known: 1008)
    /// The message was larger than the relay carries.
    public static let messageTooBig = CloseCode(known: 1009)
}
