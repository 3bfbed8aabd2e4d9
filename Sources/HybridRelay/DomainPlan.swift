// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport

extension Domain {
    /// `domain plan ID|HOST`: prints the steps to run a relay.
    struct Plan: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the steps to run a relay under a number.",
            discussion: "Makes no connection and changes nothing."
        )

        @OptionGroup var choice: DomainChoice

        func run() throws {
            let domain = try choice.tunnelDomain()
            try StandardOutput.writeLine(domain.isAssigned ? Self.assigned(domain) : Self.hashed(domain))
        }

        private static func assigned(_ domain: TunnelDomain) -> String {
            """
            Tunnel domain \(domain.id): \(domain.host)

            The number is assigned to a vendor, who owns \(registered(domain)): only the vendor can run a relay there.
            For your own relay choose a number of at least \(TunnelDomain.firstHashed):
                hybrid-relay domain list
            """
        }

        private static func hashed(_ domain: TunnelDomain) -> String {
            let (host, zone) = (domain.host, registered(domain))
            let live = "/etc/letsencrypt/live/\(host)"
            let files = "--tls-cert \(live)/fullchain.pem --tls-key \(live)/privkey.pem"
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
                4. Run the relay as a user who can read the key, on a free port 443; it reloads a renewed certificate by itself:
                       hybrid-relay serve --listen '[::]:443' \(files)
                5. Check it from another machine:
                       hybrid-relay check wss://\(host)
                6. Use it:
                       hybrid-auth scan --tunnel-domain \(domain.id) -
                """
        }

        /// Returns the domain to register; every tunnel host is `cable.` and such a domain.
        private static func registered(_ domain: TunnelDomain) -> String {
            domain.host.split(separator: ".").dropFirst().joined(separator: ".")
        }
    }
}
