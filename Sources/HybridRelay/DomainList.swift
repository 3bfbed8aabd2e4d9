// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport

extension Domain {
    /// `domain list`: numbers and hosts to choose from.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List numbers and their hosts.",
            discussion: """
                Each line is a number and the host that belongs to it. Which of the domains are free, a registrar \
                tells. Numbers below \(TunnelDomain.firstHashed) are assigned to vendors; 0 and 1 have a host.
                """
        )

        /// The top-level domains that hashes lead to.
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

        @Option(help: ArgumentHelp("Only hosts that end so.", valueName: "com|org|net|info"))
        var suffix: Suffix?

        @Option(help: ArgumentHelp("Print so many at most; 0 prints all.", valueName: "n"))
        var limit: Int = 20

        func validate() throws {
            guard from <= to else { throw ValidationError("--from must not be greater than --to.") }
            guard limit >= 0 else { throw ValidationError("--limit takes 0 or more.") }
        }

        func run() throws {
            var lines: [String] = []
            var next: UInt16?
            for id in from...to {
                guard let domain = TunnelDomain(id: id), isWanted(domain) else { continue }
                if limit > 0, lines.count == limit {
                    next = id
                    break
                }
                lines.append("\(domain.id) \(domain.host)")
            }
            if !lines.isEmpty { try StandardOutput.tell(lines.joined(separator: "\n")) }
            guard let next else { return }
            StandardError.writeLine("stopped after \(limit); go on with --from \(next), or print all with --limit 0")
        }

        private func isWanted(_ domain: TunnelDomain) -> Bool {
            guard let suffix else { return true }
            return domain.host.hasSuffix("." + suffix.rawValue)
        }
    }
}
