// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport

extension Domain {
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
            var lines: [String] = []
            var next: UInt16?
            for id in from...to {
                guard let domain = TunnelDomain(id: id), isIncluded(domain) else { continue }
                if limit > 0, lines.count == limit {
                    next = id
                    break
                }
                lines.append("\(domain.id) \(domain.host)")
            }
            if !lines.isEmpty { try StandardOutput.writeLine(lines.joined(separator: "\n")) }
            guard let next else { return }
            StandardError.writeLine("stopped after \(limit); continue with --from \(next), or print all with --limit 0")
        }

        private func isIncluded(_ domain: TunnelDomain) -> Bool {
            guard let suffix else { return true }
            return domain.host.hasSuffix("." + suffix.rawValue)
        }
    }
}
