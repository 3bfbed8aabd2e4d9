// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import CaBLE
internal import ServiceSupport

/// `hybrid-relay domain`: which host belongs to a number, and which number to a host.
struct Domain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the number and the host of a tunnel domain.",
        discussion: "A phone sends the number by radio; every client knows how to make the host from it."
    )

    @Argument(help: ArgumentHelp("A number (0 to 65535) or a host name.", valueName: "id|host"))
    var domain: String

    func run() throws {
        guard let domain = TunnelDomain(argument: domain) else {
            throw CommandFailure(
                "\(domain) is no tunnel domain: give a number that is assigned (0, 1) or at least "
                    + "\(TunnelDomain.firstHashed), or the host name of one",
                status: .usage
            )
        }
        print("\(domain.id) \(domain.host)")
    }
}
