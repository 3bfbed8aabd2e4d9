// SPDX-License-Identifier: Apache-2.0

private import HybridCaBLE
public import NIOCore

/// Bounds on what strangers may cost the relay, with defaults that a public operator can keep.
public struct RelayLimits: Sendable, Equatable {
    /// Largest message, the sum of its fragments, in bytes; more closes the tunnel with 1009.
    public var messageBytes = Limits.messageBytes
    /// What a phone may send before its client has come, in bytes; then its socket is not read any further.
    public var earlyBytes = 64 << 10
    /// What a tunnel may carry, both directions together, in bytes; more closes it with 1008.
    ///
    /// A frame counts its payload, but 16 bytes at least, so that empty frames and pings are not free.
    public var tunnelBytes = 16 << 20
    /// How long a phone may wait for its client.
    public var waiting: TimeAmount = .seconds(120)
    /// How long a paired tunnel may carry no data; pings and pongs are not data.
    public var idle: TimeAmount = .seconds(300)
    /// How long a tunnel may live, from the phone's arrival on.
    public var lifetime: TimeAmount = .minutes(10)
    /// How many phones may wait under the same tunnel ID; one more closes the oldest with 1008.
    public var waitingPerTunnelID = 4
    /// How many tunnels there may be in all; the next is refused with 503.
    public var tunnels = 10_000
    /// How many connections there may be in all, also such as have not asked yet; the next is hung up on at once.
    public var connections = 21_000
    /// What all tunnels together may hold in memory, in bytes, before every end waits until its peer has taken what
    /// it sent; on top come, for each connection, at most one read of its socket and one incomplete frame, 64 KiB each,
    /// and what the kernel keeps.
    public var bufferedBytes = 256 << 20
    /// How many connections one source, an IPv4 address or an IPv6 /64, may have; the next is hung up on.
    ///
    /// 0 is no limit.
    public var connectionsPerSource = 64
    /// How many tunnels one source may open a minute; more are refused with 429.
    ///
    /// 0 is no limit.
    public var newPerMinuteAndSource = 60
    /// Time for the TLS handshake and the request head together; then the connection is closed with 408.
    public var headTime: TimeAmount = .seconds(5)
    /// Longest request head in bytes, its empty line included; more is refused with 431.
    public var headBytes = 8 << 10
    /// How long an end may take to hang up after the relay has said its last word.
    public var closeTimeout: TimeAmount = .seconds(5)
    /// How long an end may be silent before it is pinged, and again after each ping.
    public var pingInterval: TimeAmount = .seconds(25)
    /// How many pings may stay without any sign of life; then the tunnel ends.
    public var pingMisses = 2
    /// How many pings a second are answered; of more, the last.
    public var pongsPerSecond = 10
    /// How long a shutdown waits for the ends to hang up.
    public var shutdownGrace: TimeAmount = .milliseconds(1500)
    /// How often deadlines are looked at, and so how late they may be noticed.
    public var sweepInterval: TimeAmount = .seconds(1)

    /// The defaults.
    public init() {}
}
