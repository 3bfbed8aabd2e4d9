// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridPrimitives
package import HybridProgram
package import HybridSSHAgent

/// The destinations of a key, as users name them: `[host>][user@]host`, as for ssh-add's option `-h`.
package enum NamedDestinations {
    /// Returns the destinations with all host keys of the named hosts.
    ///
    /// - Parameters:
    ///   - texts: The destinations; a host is a name in known_hosts or a fingerprint.
    ///   - knownHosts: The host keys by name.
    /// - Throws: ``CommandFailure`` if a text or host is not accepted, there are too many host keys, or no destination
    ///   leads to the first host of another one.
    package static func resolve(
        _ texts: [String],
        in knownHosts: KnownHosts
    ) throws(CommandFailure) -> [PermittedDestination] {
        var destinations: [PermittedDestination] = []
        for text in texts {
            guard let parts = PermittedDestination.Parts(text) else { throw malformed(text) }
            let user = parts.user.map { "\($0)@" } ?? ""
            let origins = try parts.origin.map { (host) throws(CommandFailure) in
                try fingerprints(of: host, in: knownHosts).map { "\($0)>" }
            }
            for origin in origins ?? [""] {
                for host in try fingerprints(of: parts.host, in: knownHosts) {
                    guard let destination = PermittedDestination("\(origin)\(user)\(host)") else {
                        throw malformed(text)
                    }
                    if !destinations.contains(destination) { destinations.append(destination) }
                }
            }
        }
        guard destinations.count <= StoredSSHKey.maximumDestinations else {
            throw CommandFailure(
                "the destinations have more than \(StoredSSHKey.maximumDestinations) host keys; give fingerprints instead "
                    + "of names",
                status: .usage
            )
        }
        let hosts = Set(destinations.map(\.host))
        if let unreachable = destinations.compactMap(\.origin).first(where: { !hosts.contains($0) }) {
            throw CommandFailure(
                "no destination leads to \(unreachable), so the key could not be used from there; add that host",
                status: .usage
            )
        }
        return destinations
    }

    /// Returns the fingerprints of all keys of a host.
    ///
    /// - Parameters:
    ///   - host: The name in known_hosts, or a fingerprint.
    ///   - knownHosts: The host keys by name.
    /// - Throws: ``CommandFailure`` if the host has no key there.
    package static func fingerprints(
        of host: String,
        in knownHosts: KnownHosts
    ) throws(CommandFailure) -> [SSHFingerprint] {
        if let fingerprint = SSHFingerprint(host) { return [fingerprint] }
        let keys = knownHosts.keys(of: host)
        guard !keys.isEmpty else {
            throw CommandFailure(
                "\(SafeText(quoting: host)) has no key in known_hosts; connect to it once with ssh, or give the "
                    + "fingerprint of its key",
                status: .usage
            )
        }
        return keys.map(\.fingerprint)
    }

    private static func malformed(_ text: String) -> CommandFailure {
        CommandFailure(
            "\(SafeText(quoting: text)) is not a destination; write HOST, USER@HOST or HOST>USER@HOST, without patterns",
            status: .usage
        )
    }
}
