// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCaBLE
internal import HybridDataChannel
public import HybridPrimitives

/// The reason why a client received no response.
public struct ClientFailure: SessionFailure, Hashable {
    /// A stable identifier of the cause, for programs.
    public let code: String
    /// Cause and remedy on one line.
    public let sentence: String
    /// Exit status of a command that ends with this failure.
    public let status: ExitStatus
    private let subject: Subject

    /// The phone that a sentence is about.
    private enum Subject: Hashable {
        /// The phone that scans a code, or none.
        case unnamed
        /// The linked phone, by its name.
        case linkedPhone
        /// The phone of a link that no longer exists, by its name.
        case unlinkedPhone
    }

    init(_ code: String, _ sentence: String, status: ExitStatus) {
        self.init(code, sentence, status: status, subject: .unnamed)
    }

    private init(
        _ code: String,
        _ sentence: String,
        status: ExitStatus = .temporary,
        subject: Subject = .unnamed
    ) {
        (self.code, self.sentence, self.status, self.subject) = (code, sentence, status, subject)
    }

    /// No advert was received in time.
    public static let phoneNotNearby = Self(
        "phone-not-nearby",
        "no phone was found nearby; scan the code with a phone that has Bluetooth on and is within a few meters"
    )

    /// The phone uses a relay that this client cannot resolve.
    public static let unknownRelay = Self(
        "relay-unknown",
        "the phone uses a relay that this program does not know; update it",
        status: .unavailable
    )

    /// The phone did not complete the handshake in time.
    public static let phoneSilent = Self(
        "phone-silent",
        "the phone was found but did not respond in time; try again with a new code"
    )

    /// The phone's user did not answer in time.
    public static let userTimedOut = Self(
        "not-confirmed-in-time",
        "the request was not confirmed on the phone in time; try again with a new code"
    )

    /// The phone disconnected before it answered.
    public static let phoneDisconnected = Self(
        "phone-vanished",
        "the phone disconnected before it answered; try again with a new code"
    )

    /// The phone or the relay disconnected before the phone answered.
    ///
    /// Relays use the same close code in both cases.
    public static let phoneOrRelayDisconnected = Self(
        "phone-vanished",
        "the phone or the relay disconnected before the phone answered; try again with a new code"
    )

    /// A device answered the handshake without knowing this code.
    public static let notThisPhone = Self(
        "not-this-phone",
        "a device that did not scan this code tried to answer it; try again with a new code",
        status: .dataError
    )

    /// The phone does not support CTAP over this channel, so its passkeys cannot be used.
    public static let phoneLacksCTAP = Self(
        "phone-lacks-passkeys",
        "the phone can't use its passkeys for another device; update it, or use another phone",
        status: .dataError
    )

    /// The phone has no wallet, or its wallet does not answer other devices.
    public static let phoneLacksDigitalCredentials = Self(
        "phone-lacks-digital-credentials",
        "the phone is not able to present digital credentials to another device; update it, or use another phone",
        status: .notPermitted
    )

    /// The phone violated the protocol; `how` is a clause for the sentence.
    public static func phoneMisbehaved(_ how: String) -> Self {
        Self(
            "phone-misbehaved",
            "the phone violated the protocol: \(how); update it, or use another phone",
            status: .dataError
        )
    }

    /// The relay cannot reach the linked phone.
    public static func phoneUnreachable(_ name: PhoneName) -> Self {
        Self(
            "linked-phone-unreachable",
            "\(name.quoted) could not be reached; scan the code instead",
            subject: .linkedPhone
        )
    }

    /// The push server reports that the linked phone has ended its subscription; nothing proves that to the client.
    public static func phoneUnsubscribed(_ name: PhoneName) -> Self {
        Self(
            "linked-phone-unsubscribed",
            "\(name.quoted) has ended its push subscription, so the relay can't wake it; scan the code instead, with "
                + "--link to link it again",
            subject: .linkedPhone
        )
    }

    /// The request was not accepted on the linked phone in time, or the phone is not nearby.
    public static func phoneNotAnswering(_ name: PhoneName) -> Self {
        Self(
            "linked-phone-silent",
            "\(name.quoted) did not answer nearby in time; scan the code instead",
            subject: .linkedPhone
        )
    }

    /// The user of the linked phone has declined to be contacted.
    public static func phoneDeclined(_ name: PhoneName) -> Self {
        Self(
            "linked-phone-declined",
            "the request was declined on \(name.quoted); scan the code instead",
            status: .notPermitted,
            subject: .linkedPhone
        )
    }

    /// A device answered the handshake without the key of the linked phone.
    public static func notLinkedPhone(_ name: PhoneName) -> Self {
        Self(
            "not-the-linked-phone",
            "the device that answered is not \(name.quoted); scan the code instead",
            status: .dataError,
            subject: .linkedPhone
        )
    }

    /// The phone has removed the link, so this client must remove it, too.
    public static func linkGone(_ name: PhoneName) -> Self {
        Self(
            "link-gone",
            "\(name.quoted) is no longer linked with this computer; scan the code instead, with --link to link it again",
            status: .unavailable,
            subject: .unlinkedPhone
        )
    }

    /// True if the link that was used no longer exists.
    public var removesLink: Bool { subject == .unlinkedPhone }

    /// True if the sentence names the linked phone.
    package var namesPhone: Bool { subject != .unnamed }

    /// A bug in this program.
    public static func internalFault(_ text: String) -> Self {
        Self("internal-fault", "internal fault: \(text); please report it", status: .software)
    }

    /// The clause about a message that is not the expected one of the handshake, or that no key opens.
    static let unopenedMessage = "a message can't be opened"

    static func explaining(_ error: any Error) -> Self? {
        switch error {
        case let error as TunnelError where error == .messageRefused: phoneMisbehaved(unopenedMessage)
        case let error as TunnelError where ChannelCloseReason(error) == .peerClosed: phoneDisconnected
        case let error as TunnelError where ChannelCloseReason(error) == .goneAway: phoneOrRelayDisconnected
        case is HandshakeError: notThisPhone
        case is PostHandshakeMessage.ParseError: phoneMisbehaved("its first message can't be read")
        case is ChannelMessage.ParseError: phoneMisbehaved("a message can't be read")
        case is CTAPResponseError: phoneMisbehaved("its answer can't be read")
        default: nil
        }
    }
}
