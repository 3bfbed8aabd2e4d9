// SPDX-License-Identifier: Apache-2.0

internal import HybridSecurityKey

/// The limits of requests of other hosts: at most one of a host at a time, and few windows that lead to nothing.
struct RemoteLimits: Sendable {
    /// Maximum number of requests at the same time.
    static let maximumRequests = 4
    /// Maximum number of hosts with a count; the oldest is forgotten for a new one.
    static let maximumHosts = 128

    private struct Counts {
        var isActive = false
        var windows = WindowLimit()
        var refusals = WindowLimit()
    }

    private var counts: [RemoteHost: Counts] = [:]
    private var order: [RemoteHost] = []
    private var active = 0

    /// Begins a request of a host; returns false if one of this host, or too many, are active.
    mutating func begin(_ host: RemoteHost) -> Bool {
        guard active < Self.maximumRequests, counts[host]?.isActive != true else { return false }
        note(host)
        counts[host]?.isActive = true
        active += 1
        return true
    }

    /// Ends the active request of a host.
    ///
    /// - Parameter isAnswered: True if its window led to a response.
    mutating func end(_ host: RemoteHost, isAnswered: Bool) {
        counts[host]?.isActive = false
        if isAnswered { counts[host]?.windows.forgetLast() }
        active -= 1
    }

    /// Counts a window; returns false if it must not open.
    mutating func openWindow(_ host: RemoteHost, at now: Duration) -> Bool {
        counts[host]?.windows.open(at: now) ?? false
    }

    /// Counts a refusal; returns false if it is not recorded, so that a host can't erase the journal.
    mutating func recordRefusal(_ host: RemoteHost, at now: Duration) -> Bool {
        note(host)
        return counts[host]?.refusals.open(at: now) ?? false
    }

    private mutating func note(_ host: RemoteHost) {
        guard counts[host] == nil else { return }
        counts[host] = Counts()
        order.append(host)
        guard order.count > Self.maximumHosts, let index = order.firstIndex(where: { counts[$0]?.isActive != true })
        else { return }
        counts[order.remove(at: index)] = nil
    }
}
