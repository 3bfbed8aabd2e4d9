// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives

/// `hybrid-relay domain`: which host belongs to a number, which numbers there are, and what to do with one.
struct Domain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the number and the host of a tunnel domain; list them; plan a relay.",
        discussion: "A phone sends the number by radio; every client knows how to make the host from it.",
        subcommands: [Show.self, List.self, Plan.self],
        defaultSubcommand: Show.self
    )

    /// `domain [show] ID|HOST`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the number and the host of a tunnel domain.")

        @OptionGroup var choice: DomainChoice

        func run() throws {
            let domain = try choice.tunnelDomain()
            try StandardOutput.tell("\(domain.id) \(domain.host)")
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
                "\(domain) is no tunnel domain: give a number that is assigned (0, 1) or "
                    + "\(TunnelDomain.firstHashed) to \(UInt16.max), or the host name of one",
                status: .usage
            )
        }
        return domain
    }
}
