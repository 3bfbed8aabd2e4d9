// SPDX-License-Identifier: Apache-2.0

/// One of the two ends of a tunnel.
public enum TunnelSide: Hashable, Sendable {
    /// The end that opened the tunnel with `/cable/new`.
    case phone
    /// The end that joined it with `/cable/connect`.
    case client

    /// The end across.
    public var other: TunnelSide { self == .phone ? .client : .phone }
}
