// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridProgram
internal import HybridSSHAgent

/// The option that limits a key to hosts.
struct DestinationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use the key only to log in there, by a name in known_hosts or a fingerprint; repeat it for more hosts.",
            valueName: "[host>][user@]host"
        )
    )
    var destination: [String] = []

    /// Returns the destinations with the keys of the named hosts; `nil` if none is named.
    ///
    /// - Throws: ``CommandFailure`` if one is not accepted.
    func destinations() throws(CommandFailure) -> [PermittedDestination]? {
        guard !destination.isEmpty else { return nil }
        let hosts = KnownHosts(paths: KeySettings.knownHosts, report: HybridKey.report)
        return try NamedDestinations.resolve(destination, in: hosts)
    }
}
