// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The failures of a giver, whose other end receives passkeys instead of sending requests.
extension AuthenticatorSessionFailure: TransferSessionFailure {
    /// No receiver answered the advert in time; it may have met another giver before.
    package static let noReceiver = Self(
        "receiver-not-nearby",
        "the device that receives did not connect: it is too far away, its code has expired, or another device has used it; "
            + "move closer, and scan a new code",
        status: .temporary
    )

    /// A verified receiver sent nothing in time.
    package static let receiverSilent = Self(
        "receiver-silent",
        "the device that receives connected but sent nothing in time; scan a new code",
        status: .temporary
    )

    /// The receiver left before the transfer was complete.
    package static let receiverLeft = Self(
        "receiver-vanished",
        "the device that receives disconnected before the transfer was complete; scan a new code to continue",
        status: .temporary
    )

    /// The receiver or the relay disconnected before the transfer was complete.
    package static let receiverOrRelayLeft = Self(
        "receiver-vanished",
        "the device that receives or the relay disconnected before the transfer was complete; scan a new code to continue",
        status: .temporary
    )

    /// The receiver violated the protocol; `how` is a clause for the sentence.
    package static func receiverMisbehaved(_ how: String) -> Self {
        Self(
            "receiver-misbehaved",
            "the device that receives violated the protocol: \(how); update hybrid-auth there",
            status: .dataError
        )
    }

    var inTransfer: Self {
        switch self {
        case .noClient: .noReceiver
        case .clientSilent: .receiverSilent
        default: self
        }
    }

    static var peerSilent: Self { receiverSilent }
    static var peerLeft: Self { receiverLeft }
    static var peerOrRelayLeft: Self { receiverOrRelayLeft }
    static func peerMisbehaved(_ how: String) -> Self { receiverMisbehaved(how) }
}
