// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridProgram
internal import HybridQRScanning
internal import HybridTPM

/// `hybrid-auth`: makes this computer an authenticator that signs in on other devices with its passkeys.
@main
struct HybridAuth: AsyncParsableCommand {
    static let programName = "hybrid-auth"

    static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Sign in on another device with a passkey kept here.",
        version: ProductVersion.text,
        subcommands: [
            ScanCommand.self, ListenCommand.self, LinksCommand.self, SetupCommand.self, VaultCommand.self,
            PasskeysCommand.self, GiveCommand.self, ReceiveCommand.self,
            ExportCommand.self, ImportCommand.self, VaultAgentCommand.self, AuthDoctor.self,
            CheckConfig<AuthSettingsCheck>.self,
        ]
    )

    static func main() async {
        ProcessMemory.protect()
        PictureProcess.runIfRequested()
        // For pinentry, which holds the PIN.
        ProcessMemory.forbidCoreDumps()
        TPMAddress.silenceLibrary()
        await runMain(programName, arguments: ProcessArguments.withoutTrace())
    }
}

/// The program's arguments, which other users can see in the process list.
enum ProcessArguments {
    /// Returns the arguments without the program's name, and overwrites codes among them in the process list.
    ///
    /// Call it before anything else, because until then every user of the computer can read the code.
    static func withoutTrace() -> [String] {
        let texts = CommandLine.arguments.dropFirst()
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let length = strlen(argument)
            let bytes = UnsafeRawBufferPointer(start: argument, count: length)
            guard let start = codeStart(bytes) else { continue }
            explicit_bzero(argument + start, length - start)
        }
        return Array(texts)
    }

    /// Returns the offset of a code in an argument such as `FIDO:/…` or `--url=FIDO:/…`; case is ignored.
    ///
    /// The link of a relay may contain a token.
    private static func codeStart(_ bytes: UnsafeRawBufferPointer) -> Int? {
        ["fido:", "hybrid:", RelayLink.scheme].compactMap { start(of: Array($0.utf8), in: bytes) }.min()
    }

    private static func start(of scheme: [UInt8], in bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= scheme.count else { return nil }
        return (0...(bytes.count - scheme.count)).first { start in
            zip(scheme, bytes[start...]).allSatisfy { $0 == $1 || $0 == $1 | 0x20 }
        }
    }
}
