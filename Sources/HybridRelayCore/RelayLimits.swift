// SPDX-License-Identifier: Apache-2.0

private import HybridCaBLE
public import NIOCore

/// Bounds on the resources that unauthenticated peers can use.
///
/// The defaults suit a public relay.
public struct RelayLimits: Sendable, Equatable {
    /// Largest message, the sum of its fragments, in bytes; a larger one closes the tunnel with 1009.
    public var messageBytes = Limits.messageBytes
    /// Most bytes a phone may send before its client joins; then the relay stops reading from the phone's socket.
    public var earlyBytes = 64 << 10
    /// Most bytes a tunnel may carry in both directions together.
    ///
    /// More closes it with 1008.
    ///
    /// A frame counts its payload, but at least 16 bytes, so that empty frames and pings count too.
    public var tunnelBytes = 16 << 20
    /// Time that a phone may wait for its client.
    public var waiting: TimeAmount = .seconds(120)
    /// Time that a paired tunnel may carry no data; pings and pongs are not data.
    public var idle: TimeAmount = .seconds(300)
    /// Longest life of a tunnel, from the phone's arrival.
    public var lifetime: TimeAmount = .minutes(10)
    /// Most phones that may wait under the same tunnel ID; one more closes the oldest with 1008.
    public var waitingPerTunnelID = 4
    /// Most tunnels in total; further ones are refused with 503.
    public var tunnels = 10_000
    /// Most connections in total, including those without a request; further ones are closed at once.
    public var connections = 21_000
    /// Most bytes that all tunnels together hold in memory.
    ///
    /// At the limit, every end with data in flight is paused.
    ///
    /// Not included: for each connection, at most one read of its socket and one incomplete frame, 64 KiB each, and the
    /// kernel's buffers.
    public var bufferedBytes = 256 << 20
    /// Most connections of one source, an IPv4 address or an IPv6 /64.
    ///
    /// Further ones are closed. 0 means no limit.
    public var connectionsPerSource = 64
    /// Most tunnels that one source may open in a minute.
    ///
    /// Further ones are refused with 429. 0 means no limit.
    public var newPerMinuteAndSource = 60
    /// Time for the TLS handshake and the request head together; then the connection is closed with 408.
    public var headTime: TimeAmount = .seconds(5)
    /// Longest request head in bytes, including its empty line; a longer one is refused with 431.
    public var headBytes = 8 << 10
    /// Time that an end may take to close its connection after the relay has sent its last bytes.
    public var closeTimeout: TimeAmount = .seconds(5)
    /// Time without received bytes after which an end is pinged, and again after each ping.
    public var pingInterval: TimeAmount = .seconds(25)
    /// Number of pings that may stay without a sign of life before the tunnel ends.
    public var pingMisses = 2
    /// Maximum number of pings per second and end that are answered.
    ///
    /// Of excess pings, only the last is answered.
    public var pongsPerSecond = 10
    /// Time that a shutdown waits for the ends to close their connections.
    public var shutdownGrace: TimeAmount = .milliseconds(1500)
    /// Interval between checks of all deadlines, and so the longest delay in noticing one.
    public var sweepInterval: TimeAmount = .seconds(1)

    /// Creates the default limits.
    public init() {}
}
