// SPDX-License-Identifier: Apache-2.0

/// Why a tunnel ended; the log line, the metric's label and the close codes all come from here.
public enum TunnelEndReason: Hashable, Sendable {
    /// An end closed the tunnel by a close frame, with a code or (`nil`) without.
    case closed(by: TunnelSide, code: CloseCode?)
    /// An end of a paired tunnel went away without a close frame.
    case vanished(TunnelSide)
    /// An end broke the rules of WebSocket or of tunnels.
    case violated(by: TunnelSide, FrameViolation)
    /// The phone went away before a client came.
    case abandoned
    /// No client came in time.
    case unclaimed
    /// The phone opened the same tunnel again more often than may wait at once.
    case superseded
    /// Nothing was said for too long.
    case idle
    /// The tunnel reached its greatest age.
    case outlived
    /// The tunnel carried as much as one may.
    case exhausted
    /// An end gave no sign of life for as long as several pings take.
    case unresponsive(TunnelSide)
    /// The relay went down.
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

    /// Every label there is, so that a metric can show a zero for each.
    public static let labels = [
        "closed", "vanished", "violated", "abandoned", "unclaimed", "superseded", "idle", "outlived", "exhausted",
        "unresponsive", "shutdown",
    ]

    /// The code an end is told; `nil` is a close frame without a code, as the other end sent it.
    ///
    /// Who broke a rule is told which; the end across only learns that its peer is gone.
    public func closeCode(for side: TunnelSide) -> CloseCode? {
        switch self {
        case .closed(_, let code): code
        case .violated(let offender, let violation): side == offender ? violation.closeCode : .goingAway
        case .vanished, .abandoned, .unresponsive, .shutdown: .goingAway
        case .unclaimed, .superseded, .idle, .outlived, .exhausted: .policyViolation
        }
    }
}
