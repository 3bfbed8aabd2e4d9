// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridCredentialExchange
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridTransfer
internal import HybridVault

/// `hybrid-auth give`: gives passkeys to a device nearby, whose code it scans.
struct GiveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "give",
        abstract: "Give passkeys to a person nearby, or let a new device join the vault.",
        discussion: """
            Scans the code that hybrid-auth receive shows on the other device, proves over Bluetooth that both are near, \
            and shows six digits that both screens must have in common. Nothing about a site leaves this device before \
            you have agreed to the list. The other vault gets copies; with --move, each passkey is deleted here as soon \
            as the other one has it. The code of vault join is scanned with this command, too.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Sites, or beginnings of IDs; without any, choose from a list. A dash: the code's text on standard input.",
            valueName: "which"
        )
    )
    var which: [String] = []

    @Flag(help: "Give all passkeys.")
    var all = false

    @Flag(help: "Delete each passkey here, on all devices of this vault, as soon as the other vault has it.")
    var move = false

    @Flag(help: "Give SSH keys, too, and passkeys whose sites were told that they stay on one device.")
    var ssh = false

    @Flag(help: "Scan the code with the camera on the back, or with any other.")
    var camera = false

    @Option(help: ArgumentHelp("Scan the code with this camera.", valueName: "name"))
    var cameraName: String?

    @Flag(help: "Scan this device's own screen, through the desktop's portal.")
    var screen = false

    @Option(help: ArgumentHelp("A picture of the code, PNG or JPEG.", valueName: "file"))
    var image: String?

    @Option(help: ArgumentHelp("Write the passkeys to this new file instead; needs --for.", valueName: "file"))
    var to: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("The request that hybrid-auth receive --request wrote.", valueName: "file")
    )
    var request: String?

    @Option(AuthSettings.tunnelDomain) var tunnelDomain: String?
    @Option(AuthSettings.tunnelTokenFile) var tunnelTokenFile: String?

    @OptionGroup var options: NearbyOptions

    @Option(help: ArgumentHelp("How long to wait for the other device, in seconds.", valueName: "s"))
    var timeout: Int = 60

    private var names: [String] { which.filter { $0 != "-" } }
    private var readsStandardInput: Bool { which.contains("-") }

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
        guard !all || names.isEmpty else { throw ValidationError("Name passkeys or use --all, not both.") }
        guard (to == nil) == (request == nil) else { throw ValidationError("--to and --for belong together.") }
        let sources = [camera || cameraName != nil, screen, image != nil, readsStandardInput].count { $0 }
        guard to == nil else {
            guard sources == 0 else { throw ValidationError("With --to no code is read; omit its source.") }
            guard !move else {
                throw ValidationError("--move needs the other device nearby, which confirms what it has; omit --to.")
            }
            return
        }
        guard sources == 1 else {
            throw ValidationError(
                "Give the code in one way: --camera, --camera-name NAME, --screen, --image FILE, or - for standard input."
            )
        }
    }

    private var wish: GiftWish { GiftWish(names: names, isAll: all, isMove: move, isComplete: ssh) }

    private var input: ScanInput {
        if let image { return .image(path: image) }
        if screen { return .screen }
        return readsStandardInput ? .standardInput : .camera(name: cameraName, timeout: .seconds(timeout))
    }

    func run() async throws {
        let settings = try AuthSettings.resolve(self)
        let prompts = try VaultPrompts(settings)
        if let to, let request {
            let file = GiftFileWriter(options: options, settings: settings, prompts: prompts)
            return try await file.write(wish, to: to, for: request)
        }
        let report = options.report()
        let runner = try GiveRunner(
            scanner: ScannerSettings(settings, options.network, timeout: .seconds(timeout)),
            location: options.location(settings),
            name: options.deviceName,
            prompts: prompts,
            progress: AnswerProgress(report)
        )
        let members: [(String, JSONText)]
        do {
            members = try await runner.run(wish, from: input, canAsk: !options.json && !readsStandardInput)
        } catch let error as any ExplainedFailure {
            report.end(CommandFailure(error))
            throw ExitCode(CommandFailure(error).status.rawValue)
        }
        try options.show(members)
    }
}

/// A run of `give` with its resolved settings.
struct GiveRunner: Sendable {
    let scanner: ScannerSettings
    let location: VaultLocation
    let name: String
    let prompts: VaultPrompts
    let progress: AnswerProgress

    /// Reads the code and performs the transfer for which it asks.
    ///
    /// - Returns: The members of the result.
    func run(_ wish: GiftWish, from input: ScanInput, canAsk: Bool) async throws -> [(String, JSONText)] {
        let read: @Sendable () async throws -> TransferCode = { try await input.code(.transfer, progress) }
        let code = try await input.isSlow ? untilSignal(run: read) : read()
        try check(wish, for: code, canAsk: canAsk)
        let age = code.age(at: WallClock.realtime.now())
        let warning = CodeAge.warning(age, unless: "the device in front of you still shows it")
        if let warning { progress.notify("old-code", warning) }
        let token = try scanner.token()
        return try await untilSignal(keepsResult: true) {
            try await prompts.closing {
                try await BluetoothRadio.whileOpen(scanner.adapter, progress) { radio in
                    let vault = try Vault.open(at: location, under: radio)
                    return try await transfer(wish, code, token, from: vault, by: radio)
                }
            }
        }
    }

    /// Checks that the command fits the code, before any radio or network is used.
    private func check(_ wish: GiftWish, for code: TransferCode, canAsk: Bool) throws(CommandFailure) {
        let isChosen = wish.isAll || !wish.names.isEmpty
        switch code.purpose {
        case .give:
            guard isChosen || canAsk && GiftList.isPossible else {
                throw CommandFailure(
                    "there is no terminal to choose passkeys on; name their sites or IDs, or use --all",
                    status: .usage
                )
            }
        case .join:
            guard !isChosen, !wish.isMove, !wish.isComplete else {
                throw CommandFailure(
                    "the other device wants to join this vault and gets all of it; to allow that, name no passkeys and no "
                        + "options for them, or let it show the code of hybrid-auth receive",
                    status: .usage
                )
            }
        }
    }

    private func transfer(
        _ wish: GiftWish,
        _ code: TransferCode,
        _ token: BearerToken?,
        from vault: Vault,
        by radio: BluetoothRadio
    ) async throws -> [(String, JSONText)] {
        let steps = TransferProgress(report: progress.report)
        let dialogue = GiverDialogue(
            vault: vault,
            name: name,
            prompts: prompts,
            progress: steps,
            isVirtual: radio.isVirtual
        )
        let session = scanner.session(token, by: radio)
        switch code.purpose {
        case .give:
            let result = try await session.give(to: code, events: progress.show) { channel in
                try await dialogue.give(wish, over: channel)
            }
            return summarize(result, wish, steps)
        case .join:
            let (peer, key) = try await session.give(to: code, events: progress.show) { channel in
                try await dialogue.handOver(over: channel)
            }
            let text = "\(SafeText(quoting: peer)) is a device of this vault now, with the key \(key)"
            progress.report.end(ProgressState("done", text))
            return [("joined", .string(peer)), ("key", .string(key))]
        }
    }

    private func summarize(_ result: GiftResult, _ wish: GiftWish, _ steps: TransferProgress) -> [(String, JSONText)] {
        let peer = SafeText(quoting: result.peer)
        for label in result.notStored.prefix(NearbyText.maximumLines) {
            let site = label.site.map { "\(SafeText(quoting: $0))" } ?? "a site"
            steps.notify(
                "not-stored",
                "\(peer) did not store the passkey for \(site): it has a different key for that account, no room, or an older "
                    + "program"
            )
        }
        var text = "\(peer) has \(PasskeyText.count(result.given)) now"
        if wish.isMove { text += ", and \(PasskeyText.count(result.deleted)) deleted here" }
        progress.report.end(ProgressState("done", text))
        return [
            ("to", .string(result.peer)), ("given", .number(result.given)), ("deleted", .number(result.deleted)),
            ("notStored", .array(result.notStored.map { .object(ImportJSON.members(of: $0)) })),
            ("leftOut", result.withheld),
        ]
    }
}
