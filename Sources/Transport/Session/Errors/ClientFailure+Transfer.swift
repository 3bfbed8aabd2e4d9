// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The failures of a receiver, whose other end gives passkeys instead of answering a request.
extension ClientFailure: TransferSessionFailure {
    /// No advert of a giver was received in time.
    package static let giverNotNearby = Self(
        "giver-not-nearby",
        "no device that gives was found nearby; scan the code there with hybrid-auth give, with Bluetooth on and within a "
            + "few meters",
        status: .temporary
    )

    /// The giver uses a relay that this receiver cannot resolve.
    package static let giverRelayUnknown = Self(
        "relay-unknown",
        "the device that gives uses a relay that this program does not know; update this program",
        status: .unavailable
    )

    /// The giver sent nothing in time.
    package static let giverSilent = Self(
        "giver-silent",
        "the device that gives was found but sent nothing in time; try again with a new code",
        status: .temporary
    )

    /// The giver left before the transfer was complete.
    package static let giverLeft = Self(
        "giver-vanished",
        "the device that gives disconnected before the transfer was complete; try again with a new code",
        status: .temporary
    )

    /// The giver or the relay disconnected before the transfer was complete.
    package static let giverOrRelayLeft = Self(
        "giver-vanished",
        "the device that gives or the relay disconnected before the transfer was complete; try again with a new code",
        status: .temporary
    )

    /// The giver violated the protocol; `how` is a clause for the sentence.
    package static func giverMisbehaved(_ how: String) -> Self {
        Self(
            "giver-misbehaved",
            "the device that gives violated the protocol: \(how); update hybrid-auth there",
            status: .dataError
        )
    }

    var inTransfer: Self {
        switch self {
        case .phoneNotNearby: .giverNotNearby
        case .unknownRelay: .giverRelayUnknown
        case .phoneSilent: .giverSilent
        case .phoneDisconnected: .giverLeft
        case .phoneOrRelayDisconnected: .giverOrRelayLeft
        case .phoneMisbehaved(Self.unopenedMessage): .giverMisbehaved(Self.unopenedMessage)
        default: self
        }
    }

    static var peerSilent: Self { giverSilent }
    static var peerLeft: Self { giverLeft }
    static var peerOrRelayLeft: Self { giverOrRelayLeft }
    static func peerMisbehaved(_ how: String) -> Self { giverMisbehaved(how) }
}
