// SPDX-License-Identifier: Apache-2.0

public import HybridNetwork
public import HybridPrimitives

/// The reason why a tunnel could not be opened, or ended prematurely.
///
/// Hosts are named with the `--connect-to` override that applies to them, if there is one.
public struct TunnelError: ExplainedFailure, Hashable {
    /// The identifier of the cause for programs.
    public let code: String
    /// The cause and the remedy on one line.
    public internal(set) var sentence: String
    /// The exit status of a command that ends with this error.
    public let status: ExitStatus
    /// Code of the close frame (RFC 6455 §7.4) that ended the tunnel, if one did.
    public private(set) var closeCode: UInt16?
    /// The phone's statement in ``contactGone(_:)``, if the relay presented one; not verified.
    public private(set) var revocation: ContactRevocation?

    private init(_ code: String, _ sentence: String, status: ExitStatus = .unavailable) {
        (self.code, self.status, self.sentence) = (code, status, sentence)
    }

    /// The relay could not be reached, or gave an answer that is not about tunnels.
    public static func network(_ error: NetworkError) -> Self {
        Self(error.code, error.sentence, status: error.status)
    }

    // MARK: The relay's answer

    /// The relay does not know the tunnel: it has expired, is taken, or never existed (HTTP status 404).
    public static let tunnelNotFound = Self(
        "tunnel-not-found",
        "the relay does not know the tunnel: it has expired or is taken; try again with a new code",
        status: .temporary
    )
    /// True for HTTP status 429 or 500 to 599: the relay works, but not now.
    public var isServerFault: Bool {
        self == .network(.relayBusy) || self == .contactLimited
            || (500...599).contains { self == .network(.refused(status: $0)) }
    }
    /// Returns the error for an HTTP status that opens no tunnel and is not a redirection.
    static func refusal(status: UInt) -> Self {
        status == 404 ? .tunnelNotFound : .network(.refusal(status: status))
    }
    /// The relay's data violates the protocol; `how` describes the violation.
    public static func relayMisbehaved(_ how: String) -> Self {
        Self(
            "relay-misbehaved",
            "the relay violated the protocol: \(how); check that it is a tunnel relay",
            status: .dataError
        )
    }

    // MARK: Linked phones

    /// The relay does not know how to reach the phone, or did not reach it within a few seconds (HTTP status 404).
    public static let contactUnreachable = Self(
        "phone-unreachable",
        "the relay could not reach the phone; check that it is on and connected, or scan the code instead",
        status: .temporary
    )
    /// The relay reports that the phone has removed the link (HTTP status 410).
    ///
    /// A relay of this project presents the phone's signed statement. Without it, the report proves nothing.
    public static func contactGone(_ revocation: ContactRevocation?) -> Self {
        var error = Self("link-removed", "the relay reports that the phone has removed the link; scan the code instead")
        error.revocation = revocation
        return error
    }
    /// True if the relay reports that the phone has removed the link, with or without proof.
    public var isContactGone: Bool { code == Self.contactGone(nil).code }
    /// The relay limits how often the phone is contacted (HTTP status 429).
    public static let contactLimited = Self(
        "contact-limited",
        "the phone was contacted too often; wait a minute, or scan the code instead",
        status: .temporary
    )
    /// The user declined on the phone.
    public static let phoneDeclined = {
        var error = Self(
            "declined-on-phone",
            "the request was declined on the phone; try again, or scan the code instead",
            status: .notPermitted
        )
        error.closeCode = 1013
        return error
    }()
    /// The relay offers no connections for phones that wait for contacts (HTTP status 404).
    public static let listeningNotOffered = Self(
        "listening-not-offered",
        "the relay does not offer linked phones; ask its operator, or use another relay"
    )
    /// The relay sent nothing for longer than it had announced.
    public static let relaySilent = Self(
        "relay-silent",
        "the connection to the relay is dead; check the network",
        status: .temporary
    )

    // MARK: The open tunnel

    /// The other end or the relay closed the tunnel with this code.
    public static func closed(code: UInt16) -> Self {
        var error = Self(
            "tunnel-closed",
            "the tunnel was closed (code \(code)); try again with a new code",
            status: .temporary
        )
        error.closeCode = code
        return error
    }
    /// The relay stopped accepting data.
    public static let stalled = Self(
        "relay-stalled",
        "the relay stopped accepting data; try again with a new code",
        status: .temporary
    )
    /// The connection ended without a close frame.
    public static let connectionLost = Self(
        "connection-lost",
        "the connection to the relay was lost; try again with a new code",
        status: .temporary
    )
    /// A message could not be decrypted, or was too long.
    public static let messageRefused = Self(
        "message-refused",
        "a message could not be decrypted; try again with a new code",
        status: .dataError
    )
}
