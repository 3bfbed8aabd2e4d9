// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The failures of a giver, whose other end receives passkeys instead of sending requests.
extension AuthenticatorSessionFailure: TransferSessionFailure {
    /// A verified receiver sent nothing in time.
    public static let receiverSilent = Self(
        "receiver-silent",
        "the device that receives connected but sent nothing in time; scan a new code",
        status: .temporary
    )

    /// The receiver left before the transfer was complete.
    public static let receiverLeft = Self(
        "receiver-vanished",
        "the device that receives disconnected before the transfer was complete; scan a new code to continue",
        status: .temporary
    )

    /// The receiver or the relay disconnected before the transfer was complete.
    public static let receiverOrRelayLeft = Self(
        "receiver-vanished",
        "the device that receives or the relay disconnected before the transfer was complete; scan a new code to continue",
        status: .temporary
    )

    /// The receiver violated the protocol; `how` is a clause for the sentence.
    public static func receiverMisbehaved(_ how: String) -> Self {
        Self(
            "receiver-misbehaved",
            "the device that receives violated the protocol: \(how); update hybrid-auth there",
            status: .dataError
        )
    }

    var inTransfer: Self { self == .clientSilent ? .receiverSilent : self }
    static var peerSilent: Self { receiverSilent }
    static var peerLeft: Self { receiverLeft }
    static var peerOrRelayLeft: Self { receiverOrRelayLeft }
    static func peerMisbehaved(_ how: String) -> Self { receiverMisbehaved(how) }
}
