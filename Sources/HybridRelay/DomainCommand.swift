// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// `hybrid-relay domain`: prints tunnel domains and the steps to run a relay under one.
struct DomainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "domain",
        abstract: "Print the number and host of a tunnel domain; list domains; plan a relay.",
        discussion: "A phone advertises the number over Bluetooth; every client derives the host from it.",
        subcommands: [Show.self, List.self, Plan.self, Link.self],
        defaultSubcommand: Show.self
    )

    /// `domain [show] ID|HOST`: prints the number and host of a tunnel domain.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the number and host of a tunnel domain.")

        @OptionGroup var choice: DomainChoice

        func run() throws {
            let domain = try choice.tunnelDomain()
            try StandardOutput.writeLine("\(domain.id) \(domain.host)")
        }
    }

    /// `domain list`: prints numbers and their hosts.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List numbers and their hosts.",
            discussion: """
                Each line has a number and its host. Ask a registrar which of the domains are free. Numbers below \
                \(TunnelDomain.firstHashed) are assigned to vendors; only 0 and 1 have a host.
                """
        )

        /// Top-level domains of hashed tunnel domains.
        enum Suffix: String, CaseIterable, ExpressibleByArgument {
            case com
            case org
            case net
            case info
        }

        @Option(help: ArgumentHelp("The first number.", valueName: "n"))
        var from: UInt16 = TunnelDomain.firstHashed

        @Option(help: ArgumentHelp("The last number.", valueName: "n"))
        var to: UInt16 = .max

        @Option(help: ArgumentHelp("Print only hosts with this suffix.", valueName: "com|org|net|info"))
        var suffix: Suffix?

        @Option(help: ArgumentHelp("Print at most this many; 0 prints all.", valueName: "n"))
        var limit: Int = 20

        func validate() throws {
            guard from <= to else { throw ValidationError("--from must not be greater than --to.") }
            guard limit >= 0 else { throw ValidationError("--limit takes 0 or more.") }
        }

        func run() throws {
            let ending = suffix.map { ".\($0.rawValue)" } ?? ""
            let all = (from...to).lazy.compactMap { TunnelDomain(id: $0) }
            // An iterator, so that each host is derived only once.
            var domains = all.filter { $0.host.hasSuffix(ending) }.makeIterator()
            var lines: [String] = []
            while limit == 0 || lines.count < limit, let domain = domains.next() {
                lines.append("\(domain.id) \(domain.host)")
            }
            if !lines.isEmpty { try StandardOutput.writeLine(lines.joined(separator: "\n")) }
            guard let next = domains.next()?.id else { return }
            StandardError.writeLine("stopped after \(limit); continue with --from \(next), or print all with --limit 0")
        }
    }

    /// `domain link ID|HOST`: prints a link for users of the relay.
    struct Link: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the link with which users choose this relay.",
            discussion: """
                Give it to users, also as a QR code, for hybrid-auth setup --link or the app for Linux phones. If the \
                relay requires tokens, add ?token= and the user's token.
                """
        )

        @OptionGroup var choice: DomainChoice

        func run() throws {
            try StandardOutput.writeLine("hybrid-relay:\(try choice.tunnelDomain().host)")
        }
    }

    /// `domain plan ID|HOST`: prints the steps to run a relay.
    struct Plan: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the steps to run a relay under a number.",
            discussion: """
                Makes no connection and changes nothing. With --nodes, it also prints the maps with which load balancers \
                find the node of a tunnel.
                """
        )

        @OptionGroup var choice: DomainChoice

        @Option(help: ArgumentHelp("Nodes of each region, 1 to 1023.", valueName: "n"))
        var nodes: Int?

        @Option(help: ArgumentHelp("Regions, 1 to 64; needs --nodes.", valueName: "n"))
        var regions: Int?

        func validate() throws {
            guard (1...NodeID.nodes.upperBound).contains(nodes ?? 1) else {
                throw ValidationError("--nodes takes 1 to \(NodeID.nodes.upperBound).")
            }
            guard (1...NodeID.regions.count).contains(regions ?? 1) else {
                throw ValidationError("--regions takes 1 to \(NodeID.regions.count).")
            }
            guard regions == nil || nodes != nil else { throw ValidationError("--regions needs --nodes.") }
        }

        func run() throws {
            let domain = try choice.tunnelDomain()
            guard !domain.isAssigned else { return try StandardOutput.writeLine(Self.assigned(domain)) }
            let maps = nodes.map { ClusterMaps(regions: regions ?? 1, nodes: $0) }
            try StandardOutput.writeLine(Self.hashed(domain, maps))
            if let maps { try StandardOutput.writeLine(Self.cluster(maps)) }
        }

        private static func cluster(_ maps: ClusterMaps) -> String {
            """

            A routing ID begins with the region (6 bits) and the node (10 bits). These are the maps of HAProxy:

            \(maps.text)
            """
        }

        private static func assigned(_ domain: TunnelDomain) -> String {
            """
            Tunnel domain \(domain.id): \(domain.host)

            The number is assigned to a vendor, who owns \(registered(domain)): only the vendor can run a relay there.
            For your own relay choose a number of at least \(TunnelDomain.firstHashed):
                hybrid-relay domain list
            """
        }

        /// Returns the step that starts the relay; with maps, on each node behind a load balancer, which has the certificate.
        private static func serving(_ host: String, _ maps: ClusterMaps?) -> String {
            guard let maps else {
                let live = "/etc/letsencrypt/live/\(host)"
                let files = "--tls-cert \(live)/fullchain.pem --tls-key \(live)/privkey.pem"
                return """
                    Run the relay as a user who can read the key, on a free port 443; it reloads a renewed certificate by itself:
                           hybrid-relay serve --listen '[::]:443' \(files)
                    """
            }
            let region = maps.regions > 1 ? " --region REGION" : ""
            return """
                Run each node behind a load balancer, which has the certificate (docs/operations.md):
                       hybrid-relay serve --cluster\(region) --node NODE --plaintext --listen ADDRESS:8080 \
                --proxy-protocol-from BALANCER
                """
        }

        private static func hashed(_ domain: TunnelDomain, _ maps: ClusterMaps?) -> String {
            let (host, zone) = (domain.host, registered(domain))
            return """
                Tunnel domain \(domain.id): \(host)

                The host is derived from the number by a hash, so every client knows it without configuration.
                Clients always connect to port 443.

                1. Register \(zone) with any registrar of .\(zone.split(separator: ".").last ?? "") domains.
                2. Point the host at the relay's machine:
                       \(host).  A     <its IPv4 address>
                       \(host).  AAAA  <its IPv6 address, if it has one>
                3. Get a certificate for \(host), in one of two ways:
                   a. HTTP-01, if port 80 of that machine is free and reachable from the internet:
                       certbot certonly --standalone -d \(host)
                   b. DNS-01, with a TXT record at _acme-challenge.\(host):
                       certbot certonly --manual --preferred-challenges dns -d \(host)
                      (certbot's plugin for your DNS provider can write the record and renew automatically)
                With the Debian package, continue with docs/operations.md instead, also behind a load balancer.
                4. \(serving(host, maps))
                5. Check it from another computer:
                       hybrid-relay check wss://\(host)
                6. Use it:
                       hybrid-auth scan --tunnel-domain \(domain.id) -
                """
        }

        /// Returns the domain to register; every tunnel host is `cable.` followed by such a domain.
        private static func registered(_ domain: TunnelDomain) -> String {
            domain.host.split(separator: ".").dropFirst().joined(separator: ".")
        }
    }
}

/// A tunnel domain on the command line.
struct DomainChoice: ParsableArguments {
    @Argument(help: ArgumentHelp("A number (0 to 65535) or a host name.", valueName: "id|host"))
    var domain: String

    func tunnelDomain() throws -> TunnelDomain {
        guard let domain = TunnelDomain(argument: domain) else {
            throw CommandFailure(
                "\(domain) is not a tunnel domain; give an assigned number (0 or 1), a number from "
                    + "\(TunnelDomain.firstHashed) to \(UInt16.max), or the host name of one",
                status: .usage
            )
        }
        return domain
    }
}
