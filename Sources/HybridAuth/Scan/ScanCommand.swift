// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// `hybrid-auth scan`: answers one QR code.
struct ScanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan",
        abstract: "Answer a sign-in code that another device shows.",
        discussion: """
            Reads the text of the QR code, proves over Bluetooth that this device is near, asks for the PIN and for \
            consent, and signs. The first scan creates the vault.
            """
    )

    @OptionGroup(title: "Where the code is")
    var inputs: ScanInputOptions

    @Option(AuthSettings.vault) var vault: String?
    @Option(AuthSettings.tunnelDomain) var tunnelDomain: String?
    @Option(AuthSettings.pinentry) var pinentry: String?
    @Option(AuthSettings.ask) var ask: String?
    @Option(AuthSettings.tunnelTokenFile) var tunnelTokenFile: String?
    @Option(AuthSettings.cacert) var cacert: String?

    @OptionGroup
    var network: NetworkOptions<AdapterName>

    @Flag(AuthSettings.bleChannel) var bleChannel: Bool?
    @Flag(AuthSettings.localServices) var localServices: Bool?
    @Flag(AuthSettings.askToLink) var askToLink: Bool?

    @Option(
        help: ArgumentHelp(
            "Link the other device under this name without a question, if it offers that.",
            valueName: "name"
        )
    )
    var linkAs: String?

    @Flag(AuthSettings.push) var push: Bool?

    @Flag(help: "Report progress as JSON on standard error, one object per line.")
    var json = false

    @Option(help: ArgumentHelp("How long to wait for the other device, in seconds.", valueName: "s"))
    var timeout: Int = 60

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
        if let linkAs { try LinkLabel.validate(linkAs) }
    }

    func run() async throws {
        var progress = AnswerProgress(json: json)
        let failure: CommandFailure
        var isKnown = false
        do {
            let settings = try AuthSettings.resolve(self)
            let questioner = try Questioner.forSignIn(settings) { [progress] in progress.notify($0, $1) }
            progress.questioner = questioner
            // It loads while the code is read and the tunnel opens.
            questioner.start()
            try await ScanRunner(self, settings, questioner, progress).scan()
            return progress.end()
        } catch let shown as AlreadyShownFailure {
            (failure, isKnown) = (shown.failure, true)
        } catch let error as any ExplainedFailure {
            failure = CommandFailure(error)
        }
        // A user who opened a URL does not see standard error, so the window must be there.
        if inputs.isOpenedURL, failure.status != .interrupted { _ = await progress.questioner?.program }
        let isShown = progress.end(failure, isKnown: isKnown)
        if inputs.isOpenedURL, !isKnown, !isShown, failure.status != .interrupted {
            await OpenedURLPrompt.show(failure, with: try? progress.questioner?.pinentry() ?? .forSignIn(pinentry))
        }
        throw ExitCode(failure.status.rawValue)
    }
}
