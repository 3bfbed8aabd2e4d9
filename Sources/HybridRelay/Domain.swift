// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives

/// `hybrid-relay domain`: prints tunnel domains and the steps to run a relay under one.
struct Domain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the number and host of a tunnel domain; list domains; plan a relay.",
        discussion: "A phone advertises the number over Bluetooth; every client derives the host from it.",
        subcommands: [Show.self, List.self, Plan.self],
        defaultSubcommand: Show.self
    )

    /// `domain [show] ID|HOST`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the number and host of a tunnel domain.")

        @OptionGroup var choice: DomainChoice

        func run() throws {
            let domain = try choice.tunnelDomain()
            try StandardOutput.writeLine("\(domain.id) \(domain.host)")
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
