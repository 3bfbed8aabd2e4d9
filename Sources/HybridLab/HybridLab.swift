// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridProgram
internal import HybridQRScanning

/// The program `hybrid-lab`: cross-device sign-in without a phone or Bluetooth, for tests and demonstrations.
@main
struct HybridLab: AsyncParsableCommand {
    static let programName = "hybrid-lab"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "A test environment for whole ceremonies: virtual radio, relay, scripted phone.",
        version: ProductVersion.text,
        subcommands: [
            DemoCommand.self, RunCommand.self, UpCommand.self, PhoneCommand.self, AirCommand.self, ShinyCommand.self,
        ]
    )

    static func main() async {
        ProcessMemory.protect()
        PictureProcess.runIfRequested()
        await runMain(programName, requiresOutput: true)
    }
}
