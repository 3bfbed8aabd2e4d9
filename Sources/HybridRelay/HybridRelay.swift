// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport

/// `hybrid-relay`: the tunnel service of the hybrid transport.
@main
struct HybridRelay: AsyncParsableCommand {
    static let programName = "hybrid-relay"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Brings a phone and a client together and passes their encrypted messages on.",
        version: ProductVersion.text,
        subcommands: [Serve.self, CheckConfig.self, NewToken.self, Domain.self, Check.self]
    )

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            failure.exit(program: programName)
        } catch {
            exit(withError: error)
        }
    }
}
