// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// What is known of a tunnel once both ends have left: nothing that tells whose it was.
public struct TunnelRecord: Hashable, Sendable {
    /// Why it ended.
    public let end: TunnelEndReason
    /// Whether a client ever came.
    public let wasPaired: Bool
    /// From the phone's arrival until the last socket closed.
    public let lifetime: TimeAmount
    /// What both ends sent after their upgrade, in bytes as ``RelayLimits/tunnelBytes`` counts them.
    public let bytes: Int

    /// The lifetime as a class, so that a log does not tell when exactly somebody signed in.
    public var lifetimeClass: String {
        switch lifetime {
        case ..<TimeAmount.seconds(1): "<1s"
        case ..<TimeAmount.seconds(10): "<10s"
        case ..<TimeAmount.minutes(1): "<1min"
        case ..<TimeAmount.minutes(10): "<10min"
        default: ">=10min"
        }
    }
}
