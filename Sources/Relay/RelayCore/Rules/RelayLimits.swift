// SPDX-License-Identifier: Apache-2.0

private import HybridCaBLE
public import NIOCore

/// Bounds on the resources that unauthenticated peers can use.
///
/// The defaults suit a public relay.
public struct RelayLimits: Sendable, Equatable {
    /// Maximum length of a message, summed over its fragments, in bytes; a longer one closes the tunnel with code 1009.
    public var messageBytes = Limits.messageBytes
    /// Number of bytes from a phone without a client at which the relay stops reading from the phone's socket.
    public var earlyBytes = 64 << 10
    /// Maximum number of bytes that a tunnel may carry in both directions together; excess closes it with code 1008.
    ///
    /// Each frame counts the length of its payload, but at least 16 bytes, so that empty frames and pings count, too.
    public var tunnelBytes = 16 << 20
    /// Maximum time that a phone may wait for its client.
    public var waiting: TimeAmount = .seconds(120)
    /// Maximum time that a paired tunnel may carry no data; pings and pongs are not data.
    public var idle: TimeAmount = .seconds(300)
    /// Maximum lifetime of a tunnel, from the phone's arrival.
    public var lifetime: TimeAmount = .minutes(10)
    /// Maximum number of phones that wait under the same tunnel ID; one more closes the oldest with code 1008.
    public var waitingPerTunnelID = 4
    /// Maximum number of tunnels in total; further ones are refused with status 503.
    public var tunnels = 10_000
    /// Maximum number of connections in total, including those without a request.
    ///
    /// At the limit, a new connection replaces the oldest one without a tunnel; if there is none, the new one is closed.
    /// Phones may take all but an eighth of the connections; beyond that, new tunnels are refused with status 503.
    public var connections = 21_000
    /// Maximum number of bytes that all connections together buffer.
    ///
    /// These are bytes that the other end has not accepted, and incomplete TLS records, request heads and frames. The
    /// kernel's buffers are not included. From half of the limit on, frames of more than 4 KiB are forwarded in fragments
    /// instead of being buffered. At the limit, an end with data in flight is paused.
    public var bufferedBytes = 256 << 20
    /// Maximum number of connections of one source, an IPv4 address or an IPv6 /64; 0 means no limit.
    ///
    /// Further connections are closed at once. Phones may take all but an eighth of them; beyond that, new tunnels are
    /// refused with status 429.
    public var connectionsPerSource = 64
    /// Maximum number of connections that one source may open in a minute; 0 means no limit.
    ///
    /// Further connections are closed at once. A request that fails with a status from 400 to 499 counts as three more
    /// connections, and one with a wrong token as eleven more, until failures have used up half of the limit.
    public var connectionsPerMinuteAndSource = 240
    /// Maximum number of tunnels that one source may open in a minute; 0 means no limit.
    ///
    /// Further ones are refused with status 429.
    public var newPerMinuteAndSource = 60
    /// The limits of an IPv6 /48, as a multiple of those of a source; 0 means no limits for networks.
    ///
    /// Those of a /40 are twice as high, those of a /32 four times.
    public var networkFactor = 8
    /// Maximum time for the TLS handshake and the request head together; then the connection is closed with status 408.
    public var headTime: TimeAmount = .seconds(5)
    /// Maximum length of a request head in bytes, including its empty line; a longer one is refused with status 431.
    public var headBytes = 8 << 10
    /// Maximum time that an end may take to close its connection after the relay has sent it the last bytes.
    public var closeTimeout: TimeAmount = .seconds(5)
    /// Time without received bytes after which an end is pinged, and the interval between further pings.
    public var pingInterval: TimeAmount = .seconds(25)
    /// Number of pings that may remain unanswered before the tunnel ends.
    public var pingMisses = 2
    /// Maximum number of pings from one end that are answered per second.
    ///
    /// If there are more, only the last of them is answered.
    public var pongsPerSecond = 10
    /// Maximum time that a shutdown waits for the ends to close their connections.
    public var shutdownGrace: TimeAmount = .milliseconds(1500)
    /// Maximum number of phones that listen for wake-ups; further ones are refused with status 503.
    public var listeners = 10_000
    /// Maximum number of phones of one source that listen; 0 means no limit.
    ///
    /// Further ones are refused with status 429. They also count as phones of the source.
    public var listenersPerSource = 32
    /// Maximum number of phones that begin to listen in a minute; 0 means no limit.
    ///
    /// Two seconds' share may come at once. Further ones are refused with status 503, so that phones that return after a
    /// restart leave processor time for sign-ins.
    public var listenersPerMinute = 30_000
    /// Maximum time that a phone may listen on one connection; it is shortened by up to a fifth at random.
    ///
    /// In a cluster, phones return in this time to the relay that the load balancer chooses for them.
    public var listening: TimeAmount = .minutes(10)
    /// Time without received bytes after which a phone that listens is pinged, and the interval between further pings.
    public var listenerPingInterval: TimeAmount = .seconds(25)
    /// Maximum number of requests that wait for a phone to listen; further ones are refused with status 503.
    public var heldContacts = 1000
    /// Maximum number of such requests of one source; further ones are refused with status 429.
    ///
    /// Requests whose message for a push server is on its way count, too.
    public var heldContactsPerSource = 4
    /// Maximum time that such a request waits; then it is refused with status 404.
    ///
    /// It is less than the ten seconds after which load balancers give up.
    public var contactHold: TimeAmount = .seconds(8)
    /// Maximum number of wake-ups for one contact ID in a minute; further ones are refused with status 429.
    public var wakeUpsPerMinute = 6
    /// Maximum number of wake-ups for one contact ID at once.
    public var wakeUpBurst = 3
    /// Maximum number of messages for one push server in a minute, a sixth of them at once; 0 means no limit.
    ///
    /// A client whose wake-up is one too many is refused with status 502.
    public var pushesPerMinuteAndHost = 600
    /// Maximum time in which a phone returns the nonce that it receives through a push server.
    public var pushProof: TimeAmount = .seconds(30)
    /// Maximum number of contact IDs for push subscriptions that one source may request in a minute.
    public var sealsPerMinuteAndSource = 10
    /// Maximum number of such requests of one source whose message for the push server is on its way.
    public var pendingSealsPerSource = 2
    /// Maximum number of contact IDs that a phone may request on one connection.
    public var pushContactsPerListener = 4
    /// Maximum number of revoked contact IDs that are remembered, half of them without a client's request.
    public var revocations = 100_000
    /// Maximum number of contact IDs that phones of one source may revoke in a minute; further ones end with code 1013.
    public var revocationsPerMinuteAndSource = 30
    /// Interval between checks of all deadlines, and therefore the maximum delay in noticing one.
    public var sweepInterval: TimeAmount = .seconds(1)

    /// Creates the default limits.
    public init() {}
}
