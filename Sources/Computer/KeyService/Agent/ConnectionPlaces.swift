// SPDX-License-Identifier: Apache-2.0

internal import HybridSSHAgent

/// The places of connections to the agent, of which other hosts get only a part.
///
/// A connection counts as that of another host once it is bound to a session through which the agent is forwarded.
struct ConnectionPlaces: Sendable {
    /// The maximum number of connections.
    let maximum: Int
    /// Maximum number of forwarded connections: other hosts leave the rest to programs of this computer.
    var maximumForwarded: Int { maximum / 2 }
    /// Maximum number of connections through one host.
    var maximumForHost: Int { maximum / 4 }

    private(set) var count = 0
    private var hosts: [SSHFingerprint: Int] = [:]

    /// Creates places that are free.
    init(maximum: Int) { self.maximum = maximum }

    /// Takes a place; returns false if there is none.
    mutating func enter() -> Bool {
        guard count < maximum else { return false }
        count += 1
        return true
    }

    /// Counts a connection that has entered as one through a host; returns false if there are too many.
    mutating func forward(through host: SSHFingerprint) -> Bool {
        let number = hosts[host, default: 0]
        guard number < maximumForHost, hosts.values.reduce(0, +) < maximumForwarded else { return false }
        hosts[host] = number + 1
        return true
    }

    /// Gives back the place of a connection, which was forwarded through a host or not.
    mutating func leave(_ host: SSHFingerprint?) {
        count -= 1
        guard let host, let number = hosts[host] else { return }
        hosts[host] = number > 1 ? number - 1 : nil
    }
}
