// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport

/// `hybrid-auth`: makes this computer an authenticator that signs in on other devices with its passkeys.
@main
struct HybridAuth: AsyncParsableCommand {
    static let programName = "hybrid-auth"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Sign in on another device with a passkey kept here.",
        version: ProductVersion.text,
        subcommands: [
            Scan.self, Setup.self, VaultCommand.self, PasskeysCommand.self, ExportCommand.self, ImportCommand.self,
            CheckConfig<AuthSettingsCheck>.self,
        ]
    )

    static func main() async {
        // A core dump would contain keys.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        await runMain(programName, arguments: ProcessArguments.withoutTrace())
    }
}
