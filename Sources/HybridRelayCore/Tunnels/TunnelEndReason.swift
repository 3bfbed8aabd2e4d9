// SPDX-License-Identifier: Apache-2.0

/// The reason why a tunnel ended, which determines the log line, the metric label and the close codes.
public enum TunnelEndReason: Hashable, Sendable {
    /// An end sent a close frame, with a code or (`nil`) without one.
    case closed(by: TunnelSide, code: CloseCode?)
    /// An end of a paired tunnel closed its connection without a close frame.
    case vanished(TunnelSide)
    /// An end violated the rules of WebSocket or of tunnels.
    case violated(by: TunnelSide, FrameViolation)
    /// The phone left before a client joined.
    case abandoned
    /// No client joined in time.
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
        }
    }

    /// All labels, so that a metric can show a zero for each.
    public static let labels = [
        "closed", "vanished", "violated", "abandoned", "unclaimed", "superseded", "idle", "outlived", "exhausted",
        "unresponsive", "shutdown",
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
        }
    }
}
