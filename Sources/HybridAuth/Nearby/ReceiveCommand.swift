// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridVault

/// `hybrid-auth receive`: shows a code, and adds the passkeys that a person nearby gives.
struct ReceiveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receive",
        abstract: "Receive passkeys from a person nearby.",
        discussion: """
            Shows a code, which the other person scans with hybrid-auth give. Bluetooth proves that both devices are near, \
            and both screens show the same six digits. Nothing is stored before you have compared them and agreed to the \
            list. If there is no vault, one is created. Without Bluetooth, --request writes a file for the other person, \
            and --from adds the passkeys of the file that comes back.
            """
    )

    @Option(
        help: ArgumentHelp("Write a request to this new file instead, for hybrid-auth give --for.", valueName: "file")
    )
    var request: String?

    @Option(help: ArgumentHelp("Add the passkeys of this file, which answers a request.", valueName: "file"))
    var from: String?

    @OptionGroup var code: TransferCodeOptions

    @OptionGroup var options: NearbyOptions

    func validate() throws {
        guard request == nil || from == nil else {
            throw ValidationError("Write a request with --request, or read the answer with --from, not both.")
        }
    }

    func run() async throws {
        let settings = try AuthSettings.resolve(self)
        let prompts = try VaultPrompts(settings)
        if let request {
            return try await RequestFiles(options: options, settings: settings, prompts: prompts).write(request)
        }
        if let from {
            return try await RequestFiles(options: options, settings: settings, prompts: prompts).receive(from)
        }
        let run = try await ReceiverRun(.give, options, code, settings)
        let progress = TransferProgress(report: run.report)
        let location = try options.location(settings)
        let result: ReceiptResult
        do {
            result = try await prompts.closing {
                try await run.perform { radio in
                    let vault = try await Vault.openOrCreate(at: location, under: radio, notify: progress.notify) {
                        try await prompts.askNewPIN(for: location.directory)
                    }
                    return (vault, radio.isVirtual)
                } _: { prepared, channel in
                    let dialogue = ReceiverDialogue(
                        name: options.deviceName,
                        prompts: prompts,
                        progress: progress,
                        isVirtual: prepared.1,
                        showDigits: run.show
                    )
                    return try await dialogue.receive(into: prepared.0, over: channel)
                }
            }
        } catch let error as any ExplainedFailure {
            run.report.end(CommandFailure(error))
            throw ExitCode(CommandFailure(error).status.rawValue)
        }
        try await run.close { () throws(CommandFailure) in
            result.report(progress)
            try options.show(result.members)
        }
    }
}
