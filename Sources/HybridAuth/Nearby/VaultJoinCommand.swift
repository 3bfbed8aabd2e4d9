// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridVault

/// `vault join`: makes this device another device of a vault, whose key a device nearby hands over.
struct VaultJoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Become another device of a vault, with a device that has it nearby.",
        discussion: """
            Shows a code, which the device that has the vault scans with hybrid-auth give. It hands over the vault's key; \
            the files come by the sync tool that you use for the vault's directory, and this command waits for them. With \
            a passphrase or recovery code instead of a device nearby, use vault init.
            """
    )

    @Flag(help: "Get the key from a device nearby.")
    var nearby = false

    @Flag(help: "Don't wait for the files of the vault.")
    var noWait = false

    @OptionGroup var code: TransferCodeOptions

    @OptionGroup var options: NearbyOptions

    func validate() throws {
        guard nearby else {
            throw ValidationError("Use --nearby, or vault init with the vault's passphrase or recovery code.")
        }
    }

    func run() async throws {
        let settings = try AuthSettings.resolve(self)
        let location = try options.location(settings)
        try check(location)
        let prompts = try VaultPrompts(settings)
        let run = try await ReceiverRun(.join, options, code, settings)
        let progress = TransferProgress(report: run.report)
        do {
            let (material, peer) = try await prompts.closing {
                try await run.perform { radio in
                    radio.isVirtual
                } _: { isVirtual, channel in
                    let dialogue = ReceiverDialogue(
                        name: options.deviceName,
                        prompts: prompts,
                        progress: progress,
                        isVirtual: isVirtual,
                        showDigits: run.show
                    )
                    return try await dialogue.join(at: location, over: channel)
                }
            }
            let isComplete = try await arrival(of: material, at: location, progress)
            try await run.close { () throws(CommandFailure) in
                let text = isComplete ? "the vault opens with the PIN of this device now" : Self.later
                progress.report.end(ProgressState("done", "\(location.directory): \(text)"))
                try options.show([
                    ("from", .string(peer)), ("path", .string(location.directory)),
                    ("key", .string("\(material.fingerprint)")), ("complete", .boolean(isComplete)),
                ])
            }
        } catch let error as any ExplainedFailure {
            run.report.end(CommandFailure(error))
            throw ExitCode(CommandFailure(error).status.rawValue)
        }
    }

    private static let later = "the vault opens with the PIN of this device once a file sync has brought its files"

    /// Checks the place before a code is shown.
    private func check(_ location: VaultLocation) throws {
        do throws(VaultError) {
            _ = try Vault.checkJoin(at: location)
        } catch .missing(let path) {
            throw CommandFailure(
                "this device has the key of the vault at \(path), and its files are not there; let the file sync bring them",
                status: .temporary
            )
        } catch {
            throw CommandFailure(opening: error)
        }
    }

    /// Interval between two looks at the directory.
    private static let interval = Duration.seconds(1)

    /// Waits until a file sync has brought all files.
    ///
    /// - Returns: False if the user does not want to wait, or has stopped waiting.
    private func arrival(
        of material: VaultKeyMaterial,
        at location: VaultLocation,
        _ progress: TransferProgress
    ) async throws -> Bool {
        let ending = await withTerminationSignals {
            var shown: VaultArrival?
            while true {
                let arrival = try await Vault.arrival(of: material, at: location)
                if arrival == .complete { return true }
                if case .records(let arrived, let total) = arrival, arrival != shown {
                    progress.enter(
                        "waiting-for-files",
                        "waiting for the file sync to bring the vault to \(location.directory): \(arrived) of \(total) records",
                        [("arrived", "\(arrived)"), ("of", "\(total)")]
                    )
                    shown = arrival
                }
                guard !noWait else { return false }
                try await Task.sleep(for: Self.interval)
            }
        }
        if ending.signal != nil { return false }
        return try ending.result.get()
    }
}
