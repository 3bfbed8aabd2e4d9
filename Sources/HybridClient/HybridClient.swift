// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridProgram

/// The program `hybrid-client`, the client of a ceremony, which shows a QR code for a phone.
@main
struct HybridClient: AsyncParsableCommand {
    static let programName = "hybrid-client"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Sign in here with a passkey on another device.",
        version: ProductVersion.text,
        subcommands: [
            ShowQRCommand.self, PresentCommand.self, PhonesCommand.self, ClientDoctor.self,
            CheckConfig<ClientSettingsCheck>.self,
        ]
    )

    static func main() async {
        ProcessMemory.protect()
        await runMain(programName)
    }
}
