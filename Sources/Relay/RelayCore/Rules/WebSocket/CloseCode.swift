// SPDX-License-Identifier: Apache-2.0

/// A WebSocket close code that may be sent in a close frame.
///
/// Sources: RFC 6455 §7.4 and IANA's registry. 1004, 1005, 1006 and 1015 are never sent.
public struct CloseCode: RawRepresentable, Hashable, Sendable {
    /// The number: 1000…1014 without the reserved ones, or 3000…4999.
    public let rawValue: UInt16

    /// Creates a code from a number; `nil` if it must not be sent.
    public init?(rawValue: UInt16) {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: self.rawValue = rawValue
        default: return nil
        }
    }

    private init(known rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The purpose of the connection has been fulfilled.
    public static let normal = CloseCode(known: 1000)
    /// The other end left, or the relay is shutting down.
    public static let goingAway = CloseCode(known: 1001)
    /// The bytes were not WebSocket frames, or not those of a client.
    public static let protocolError = CloseCode(known: 1002)
    /// A text message was sent; tunnels carry only binary messages.
    public static let unsupportedData = CloseCode(known: 1003)
    /// A text was not UTF-8.
    public static let invalidData = CloseCode(known: 1007)
    /// The relay's policy ended the tunnel: a limit on time or bytes, or a newer tunnel with the same ID.
    public static let policyViolation = CloseCode(known: 1008)
    /// The message was larger than the relay accepts.
    public static let messageTooBig = CloseCode(known: 1009)
    /// The phone has to connect again, because the relay is shutting down or the connection has reached its lifetime.
    public static let serviceRestart = CloseCode(known: 1012)
    /// The phone declined the client's request, or too many contact IDs were revoked recently.
    public static let tryAgainLater = CloseCode(known: 1013)
}
