// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridProgram
internal import HybridRelayCore
internal import NIOCore

/// Settings of ``RelayLimits``, which can be changed while the relay runs.
enum LimitSettings {
    static let maxMessage = limit(
        "max-message",
        .bytes(125...(16 << 20)),
        "1MiB",
        "Maximum length of a message, in bytes."
    )
    static let maxEarly = limit(
        "max-early",
        .bytes(0...(16 << 20)),
        "64KiB",
        "Maximum number of bytes that a phone may send before its client joins; then the relay stops reading from it."
    )
    static let maxTunnelBytes = limit(
        "max-tunnel-bytes",
        .bytes(1024...(1 << 40)),
        "16MiB",
        "Maximum number of bytes that a tunnel may carry."
    )
    static let waitingTimeout = seconds("waiting-timeout", "120", "Time a phone may wait for its client.")
    static let idleTimeout = seconds("idle-timeout", "300", "Time a tunnel may carry no data.")
    static let maxLifetime = seconds("max-lifetime", "600", "Maximum lifetime of a tunnel.")
    static let waitingPerTunnel = limit(
        "waiting-per-tunnel",
        .number(1...255),
        "4",
        "Maximum number of phones that may wait for one client."
    )
    static let maxTunnels = limit("max-tunnels", .number(1...10_000_000), "10000", "Maximum number of tunnels.")
    static let maxConnections = Setting(
        "max-connections",
        .number(1...20_000_000),
        help:
            "Maximum number of connections. Default: twice the tunnels plus 1,000, and the listeners if --contact-host is "
            + "given, within the limit on file descriptors. An eighth of them is reserved for clients."
    )
    static let maxBuffered = limit(
        "max-buffered",
        .bytes((64 << 10)...(1 << 40)),
        "256MiB",
        "Maximum number of bytes that all connections may hold in memory; then senders have to wait."
    )
    static let headTimeout = seconds("head-timeout", "5", "Time for the TLS handshake and the request head together.")
    static let maxHead = limit("max-head", .bytes(512...(1 << 20)), "8KiB", "Maximum length of a request head.")
    static let sourceOpen = limit(
        "source-open",
        .number(0...10_000_000),
        "64",
        "Maximum number of connections from one IPv4 address or IPv6 /64; 0 means no limit. An eighth is reserved for "
            + "clients."
    )
    static let sourceConnectionsPerMinute = limit(
        "source-connections-per-minute",
        .number(0...10_000_000),
        "240",
        "Maximum number of connections that one IPv4 address or IPv6 /64 may open in a minute; 0 means no limit. A failed "
            + "request counts as 4 connections, a wrong token as 12, until failures have used up half."
    )
    static let sourceNewPerMinute = limit(
        "source-new-per-minute",
        .number(0...1_000_000),
        "60",
        "Maximum number of tunnels that one IPv4 address or IPv6 /64 may open in a minute; 0 means no limit."
    )
    static let sourceListeners = limit(
        "source-listeners",
        .number(0...10_000_000),
        "32",
        "Maximum number of phones at one IPv4 address or IPv6 /64 that listen for wake-ups; 0 means no limit."
    )
    static let sourceNetworkFactor = limit(
        "source-network-factor",
        .number(0...65_536),
        "8",
        "Limits of an IPv6 /48, as a multiple of those of a /64; 0 means no limits for networks. Those of a /40 are "
            + "twice as high, those of a /32 four times."
    )
    static let maxListeners = limit(
        "max-listeners",
        .number(0...10_000_000),
        "10000",
        "Maximum number of phones that listen for wake-ups."
    )
    static let maxHeldContacts = limit(
        "max-held-contacts",
        .number(0...1_000_000),
        "1000",
        "Maximum number of clients that wait up to 8 seconds for a linked phone to connect."
    )
    static let listenerLifetime = seconds(
        "listener-lifetime",
        "600",
        "Time after which a phone that listens has to connect again; up to a fifth less at random."
    )
    static let pushHostPerMinute = limit(
        "push-host-per-minute",
        .number(0...1_000_000),
        "600",
        "Maximum number of messages for one push server in a minute; 0 means no limit."
    )
    static let pingInterval = seconds("ping-interval", "25", "Time without received data before an end is pinged.")
    static let pingMisses = limit("ping-misses", .number(0...100), "2", "Number of unanswered pings that end a tunnel.")

    static let all: [any AnySetting] = [
        maxMessage, maxEarly, maxTunnelBytes, waitingTimeout, idleTimeout, maxLifetime, waitingPerTunnel, maxTunnels,
        maxConnections, maxBuffered, headTimeout, maxHead, sourceOpen, sourceConnectionsPerMinute,
        sourceNewPerMinute, sourceListeners, sourceNetworkFactor, maxListeners, maxHeldContacts, listenerLifetime,
        pushHostPerMinute, pingInterval, pingMisses,
    ]

    /// Returns the limits of a configuration.
    ///
    /// - Parameters:
    ///   - configuration: The resolved settings.
    ///   - descriptors: The limit on open file descriptors.
    static func limits(of configuration: Configuration, descriptors: Int) throws(CommandFailure) -> RelayLimits {
        var limits = RelayLimits()
        limits.messageBytes = try configuration.value(maxMessage)
        limits.earlyBytes = try configuration.value(maxEarly)
        limits.tunnelBytes = try configuration.value(maxTunnelBytes)
        limits.waiting = TimeAmount(try configuration.value(waitingTimeout))
        limits.idle = TimeAmount(try configuration.value(idleTimeout))
        limits.lifetime = TimeAmount(try configuration.value(maxLifetime))
        limits.waitingPerTunnelID = try configuration.value(waitingPerTunnel)
        limits.tunnels = try configuration.value(maxTunnels)
        limits.bufferedBytes = try configuration.value(maxBuffered)
        limits.headTime = TimeAmount(try configuration.value(headTimeout))
        limits.headBytes = try configuration.value(maxHead)
        limits.connectionsPerSource = try configuration.value(sourceOpen)
        limits.connectionsPerMinuteAndSource = try configuration.value(sourceConnectionsPerMinute)
        limits.networkFactor = try configuration.value(sourceNetworkFactor)
        limits.listenersPerSource = try configuration.value(sourceListeners)
        limits.listeners = try configuration.value(maxListeners)
        // All phones of a neighbor that has stopped return within about 20 seconds.
        limits.listenersPerMinute = max(limits.listenersPerMinute, 3 * limits.listeners)
        limits.heldContacts = try configuration.value(maxHeldContacts)
        limits.listening = TimeAmount(try configuration.value(listenerLifetime))
        limits.pushesPerMinuteAndHost = try configuration.value(pushHostPerMinute)
        limits.newPerMinuteAndSource = try configuration.value(sourceNewPerMinute)
        limits.pingInterval = TimeAmount(try configuration.value(pingInterval))
        limits.pingMisses = try configuration.value(pingMisses)
        // Without a free descriptor, the relay could not even accept a connection and close it.
        let loops = try configuration.value(RelaySettings.eventLoops) ?? RelayServer.usableProcessors
        let reachable = max(descriptors - reserve - 2 * loops, 1)
        let listeners = try configuration.value(RelaySettings.contactHost) == nil ? 0 : limits.listeners
        let wanted = try configuration.value(maxConnections) ?? 2 * limits.tunnels + listeners + 1000
        limits.connections = min(wanted, reachable)
        return limits
    }

    /// Number of descriptors reserved for other uses, in addition to two for each thread that carries tunnels.
    ///
    /// They are for listeners, log, reloaded files, connections that are rejected at once, the admin server and its event
    /// loops.
    private static let reserve = 64 + 64 + 3 * System.coreCount

    private static func limit(
        _ name: String,
        _ parser: SettingParser<Int>,
        _ value: String,
        _ help: String
    ) -> Setting<Int> {
        Setting(name, parser, default: value, help: help)
    }

    private static func seconds(_ name: String, _ value: String, _ help: String) -> Setting<Duration> {
        Setting(name, .seconds(.milliseconds(100) ... .seconds(86_400)), default: value, help: help + " In seconds.")
    }
}

/// The limit on the process's open file descriptors.
enum DescriptorLimit {
    /// Raises the soft limit to the hard limit and returns it.
    ///
    /// The usual soft limit of 1,024 is enough for about 500 tunnels only.
    static func raise() -> Int {
        var limit = rlimit()
        let files = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
        guard getrlimit(files, &limit) == 0 else { return 1024 }
        limit.rlim_cur = limit.rlim_max
        setrlimit(files, &limit)
        guard getrlimit(files, &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }
}
