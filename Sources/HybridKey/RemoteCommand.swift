// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram

/// The command `hybrid-key remote`, which manages the permissions of other hosts.
struct RemoteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Permit browsers on other hosts to use the phone near this computer.",
        discussion: """
            A host reaches this computer through ssh -A, and proves its key. Each host on the way needs the permission. A \
            question appears here before the phone is used; with a permission for a website, sign-ins to it from that \
            host need none. A person who controls a permitted host can ask as any website there.
            """,
        subcommands: [Allow.self, List.self, Forget.self],
        defaultSubcommand: List.self
    )

    fileprivate static func store() throws(CommandFailure) -> RemotePermissionStore {
        RemotePermissionStore(in: try KeySettings.stateFolder())
    }

    /// A host and a website of the command line.
    struct Target: ParsableArguments {
        @Argument(
            help: ArgumentHelp(
                "The name in known_hosts, the fingerprint of the key, or socket:NAME for a socket of --named-socket.",
                valueName: "host"
            )
        )
        var host: String

        @Option(help: ArgumentHelp("The domain of a website's passkeys.", valueName: "domain"))
        var site: String?

        /// Returns the hosts: all keys of a name.
        ///
        /// - Parameter hosts: Permitted hosts, whose names count, too.
        func hosts(or hosts: [RemotePermissions.Host] = []) throws(CommandFailure) -> [RemoteHost] {
            if let host = RemoteHost(host) { return [host] }
            let known = hosts.filter { $0.name == host }.map(\.host)
            guard known.isEmpty else { return known }
            let files = KnownHosts(paths: KeySettings.knownHosts, report: HybridKey.report)
            return try NamedDestinations.fingerprints(of: host, in: files).map(RemoteHost.key)
        }

        func relyingParty() throws(CommandFailure) -> RelyingPartyID? {
            guard let site else { return nil }
            guard let id = RelyingPartyID(site) else {
                throw CommandFailure(
                    "\(SafeText(quoting: site)) is not a domain; write it in lower case, such as shop.example",
                    status: .usage
                )
            }
            return id
        }
    }

    struct Allow: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Permit a host, or sign-ins to one website from it without a question."
        )

        @OptionGroup
        var target: Target

        @Flag(help: "With --site: also permit secrets of the passkey (PRF), which can decrypt the site's data.")
        var secret = false

        func validate() throws {
            guard target.site != nil || !secret else { throw ValidationError("--secret needs --site.") }
        }

        func run() async throws {
            let (hosts, site) = (try target.hosts(), try target.relyingParty())
            // A name with characters that a list could not show has no key in known_hosts.
            let name = RemotePermissions.isName(target.host) ? target.host : hosts.first.map(\.description) ?? ""
            try RemoteCommand.store().change { (permissions) throws(CommandFailure) in
                for host in hosts {
                    guard permissions.allow(host, name: name) else { throw .tooManyPermissions }
                    guard let site else { continue }
                    guard permissions.allow(site, from: host, secret: secret) else { throw .tooManyPermissions }
                }
            }
            let keys = hosts.count == 1 ? "" : " (\(hosts.count) keys)"
            let purpose = site.map { "sign in to \($0.text) without a question" } ?? "ask for the phone"
            HybridKey.report("\(SafeText(quoting: target.host))\(keys) may \(purpose)")
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the permitted hosts and their websites.")

        @Flag(help: "Print one JSON object per line.")
        var json = false

        func run() async throws {
            let permissions = try RemoteCommand.store().permissions()
            if permissions.hosts.isEmpty {
                HybridKey.report("no host is permitted; see hybrid-key remote allow --help")
            }
            for host in permissions.hosts {
                let sites = permissions.sites.filter { $0.host == host.host }
                try StandardOutput.writeLine(json ? Self.json(host, sites) : "\(host.name)  \(host.host)")
                guard !json else { continue }
                for site in sites {
                    let secrets = site.mayGetSecret ? "  with secrets" : ""
                    try StandardOutput.writeLine("    \(site.relyingParty.text)\(secrets)")
                }
            }
        }

        private static func json(_ host: RemotePermissions.Host, _ sites: [RemotePermissions.Site]) -> String {
            let listed = sites.map { site in
                JSONText.object([
                    ("rp_id", .string(site.relyingParty.text)), ("secret", .boolean(site.mayGetSecret)),
                ])
            }
            return JSONText.object([
                ("name", .string(host.name)), ("host", .string(host.host.description)), ("sites", .array(listed)),
            ]).description
        }
    }

    struct Forget: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove the permission of a host with its websites, or of one website."
        )

        @OptionGroup
        var target: Target

        func run() async throws {
            let store = try RemoteCommand.store()
            let hosts = try target.hosts(or: try store.permissions().hosts)
            let site = try target.relyingParty()
            let isRemoved = try store.change { permissions in
                hosts.map { host in
                    site.map { permissions.forget($0, from: host) } ?? permissions.forget(host)
                }.contains(true)
            }
            guard isRemoved else {
                throw CommandFailure(
                    "\(SafeText(quoting: target.host)) has no such permission; list them: hybrid-key remote list",
                    status: .noInput
                )
            }
            HybridKey.report("removed the permission of \(SafeText(quoting: target.host))")
        }
    }
}
