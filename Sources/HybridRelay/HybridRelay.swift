// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridProgram

/// `hybrid-relay`: the tunnel service of the hybrid transport.
@main
struct HybridRelay: AsyncParsableCommand {
    static let programName = "hybrid-relay"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Connects a phone and a client and relays their encrypted messages.",
        version: ProductVersion.text,
        subcommands: [
            ServeRelayCommand.self, CheckConfig<RelayFlags>.self, NewTokenCommand.self, NewPushKeysCommand.self,
            DomainCommand.self, CheckCommand.self,
        ]
    )

    static func main() async {
        // The memory will hold the key of the certificate.
        ProcessMemory.protect()
        ProcessMemory.forbidCoreDumps()
        await runMain(programName)
    }
}
