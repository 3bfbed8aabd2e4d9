// SPDX-License-Identifier: Apache-2.0

/// The reason why a tunnel ended, which determines the log line, the metric label and the close codes.
public enum TunnelEndReason: Hashable, Sendable {
    /// An end sent a close frame, with a code or (`nil`) without one.
    case closed(by: TunnelSide, code: CloseCode?)
    /// An end of a paired tunnel closed its connection without a close frame.
    case vanished(TunnelSide)
    /// An end violated the rules of WebSocket or of tunnels.
    case violated(by: TunnelSide, FrameViolation)
    /// The end that opened the tunnel left before the other joined.
    case abandoned
    /// The other end did not join in time.
    case unclaimed
    /// The phone opened the same tunnel again, and too many of them waited.
    case superseded
    /// The tunnel carried no data for too long.
    case idle
    /// The tunnel reached its maximum lifetime.
    case outlived
    /// The tunnel reached its limit on bytes.
    case exhausted
    /// An end did not respond to several pings.
    case unresponsive(TunnelSide)
    /// The relay shut down.
    case shutdown
    /// The phone declined the request of a client that contacted it.
    case declined
    /// The phone that a client contacted did not listen.
    case unreachable
    /// The phone revoked the contact ID; a client without a response is refused with the phone's proof.
    indirect case revoked(UpgradeRefusal)
    /// The push server did not accept the message for the phone; the client is refused with the cause.
    indirect case undelivered(UpgradeRefusal)

    /// The reason as one lower-case word, for logs and metrics.
    public var label: String {
        switch self {
        case .closed: "closed"
        case .vanished: "vanished"
        case .violated: "violated"
        case .abandoned: "abandoned"
        case .unclaimed: "unclaimed"
        case .superseded: "superseded"
        case .idle: "idle"
        case .outlived: "outlived"
        case .exhausted: "exhausted"
        case .unresponsive: "unresponsive"
        case .shutdown: "shutdown"
        case .declined: "declined"
        case .unreachable: "unreachable"
        case .revoked: "revoked"
        case .undelivered: "undelivered"
        }
    }

    /// All labels, so that a metric can show a zero for each.
    public static let labels = [
        "closed", "vanished", "violated", "abandoned", "unclaimed", "superseded", "idle", "outlived", "exhausted",
        "unresponsive", "shutdown", "declined", "unreachable", "revoked",
        "undelivered",
    ]

    /// Returns the close code for an end; `nil` means a close frame without a code, as the other end sent it.
    ///
    /// The end that violated a rule learns which one. Its peer learns only that the tunnel is closed.
    public func closeCode(for side: TunnelSide) -> CloseCode? {
        switch self {
        case .closed(_, let code): code
        case .violated(let offender, let violation): side == offender ? violation.closeCode : .goingAway
        case .vanished, .abandoned, .unresponsive, .shutdown: .goingAway
        case .unclaimed, .superseded, .idle, .outlived, .exhausted: .policyViolation
        case .declined, .unreachable, .revoked, .undelivered: .tryAgainLater
        }
    }

    /// The response for a client whose request is held, which can get no close frame.
    var refusal: UpgradeRefusal {
        switch self {
        case .revoked(let refusal), .undelivered(let refusal): refusal
        case .shutdown: .draining
        default: .contactUnreachable
        }
    }
}
