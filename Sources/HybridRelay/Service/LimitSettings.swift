// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridRelayCore
internal import NIOCore

/// The bounds on what strangers may cost; each can be changed while the relay runs.
enum LimitSettings {
    static let maxMessage = bytes("max-message", 125...(16 << 20), "1MiB", "Largest message, in bytes.")
    static let maxEarly = bytes(
        "max-early",
        0...(16 << 20),
        "64KiB",
        "What a phone may send before its client has come; then it is not read any further."
    )
    static let maxTunnelBytes = bytes("max-tunnel-bytes", 1024...(1 << 40), "16MiB", "What one tunnel may carry.")
    static let waitingTimeout = seconds("waiting-timeout", "120", "How long a phone may wait for its client.")
    static let idleTimeout = seconds("idle-timeout", "300", "How long a tunnel may carry nothing.")
    static let maxLifetime = seconds("max-lifetime", "600", "How long a tunnel may live.")
    static let waitingPerTunnel = number("waiting-per-tunnel", 1...255, "4", "Phones that may wait for one client.")
    static let maxTunnels = number("max-tunnels", 1...10_000_000, "10000", "How many tunnels there may be.")
    static let maxConnections = Setting(
        "max-connections",
        .number(1...20_000_000),
        help: "How many connections there may be; twice the tunnels and 1,000, as far as descriptors reach."
    )
    static let maxBuffered = bytes(
        "max-buffered",
        (64 << 10)...(1 << 40),
        "256MiB",
        "What all tunnels may hold in memory before senders have to wait."
    )
    static let headTimeout = seconds("head-timeout", "5", "Time for TLS and the request together.")
    static let maxHead = bytes("max-head", 512...(1 << 20), "8KiB", "Longest request head.")
    static let sourceOpen = number(
        "source-open",
        0...10_000_000,
        "64",
        "Connections of one IPv4 address or IPv6 /64; 0 is no limit."
    )
    static let sourceNewPerMinute = number(
        "source-new-per-minute",
        0...1_000_000,
        "60",
        "Tunnels that one IPv4 address or IPv6 /64 may open a minute; 0 is no limit."
    )
    static let pingInterval = seconds("ping-interval", "25", "How long an end may be silent before it is pinged.")
    static let pingMisses = number("ping-misses", 0...100, "2", "Pings without an answer before a tunnel ends.")

    static let all: [AnySetting] = [
        AnySetting(maxMessage), AnySetting(maxEarly), AnySetting(maxTunnelBytes), AnySetting(waitingTimeout),
        AnySetting(idleTimeout), AnySetting(maxLifetime), AnySetting(waitingPerTunnel), AnySetting(maxTunnels),
        AnySetting(maxConnections), AnySetting(maxBuffered), AnySetting(headTimeout), AnySetting(maxHead),
        AnySetting(sourceOpen), AnySetting(sourceNewPerMinute), AnySetting(pingInterval), AnySetting(pingMisses),
    ]

    /// The limits of a configuration.
    ///
    /// - Parameter descriptors: how many files the process may have open.
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
        limits.newPerMinuteAndSource = try configuration.value(sourceNewPerMinute)
        limits.pingInterval = TimeAmount(try configuration.value(pingInterval))
        limits.pingMisses = try configuration.value(pingMisses)
        // Were there no descriptor left, the relay could not even hang up.
        let reachable = max(descriptors - reserve, 1)
        limits.connections = min(try configuration.value(maxConnections) ?? 2 * limits.tunnels + 1000, reachable)
        return limits
    }

    /// For listeners, log, files that are read again, connections that are hung up on at once, as many of the admin's,
    /// and three for each event loop.
    private static let reserve = 64 + 64 + 3 * System.coreCount

    private static func bytes(
        _ name: String,
        _ range: ClosedRange<Int>,
        _ value: String,
        _ help: String
    )
        -> Setting<Int>
    {
        Setting(name, .bytes(range), default: value, help: help)
    }

    private static func number(
        _ name: String,
        _ range: ClosedRange<Int>,
        _ value: String,
        _ help: String
    )
        -> Setting<Int>
    {
        Setting(name, .number(range), default: value, help: help)
    }

    private static func seconds(_ name: String, _ value: String, _ help: String) -> Setting<Duration> {
        Setting(name, .seconds(.milliseconds(100) ... .seconds(86_400)), default: value, help: help + " In seconds.")
    }
}
