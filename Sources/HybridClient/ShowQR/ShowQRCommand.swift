// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram

/// The command `hybrid-client show-qr`, which performs a ceremony and prints the response for the website's server.
struct ShowQRCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show-qr",
        abstract: "Show a code, wait for a phone, print its response.",
        discussion: """
            The request is {"publicKey": …} with the options that a website passes to navigator.credentials.create() or \
            get(), as JSON. Standard output carries only the response as JSON; the code and the progress go to standard \
            error. For a sign-in without --link, a phone that is linked with this computer is contacted first; the code \
            appears if it does not answer within 8 seconds. For a new passkey, only --phone contacts a linked phone.
            """
    )

    @Option(help: ArgumentHelp("The website's request; a dash reads standard input.", valueName: "file|-"))
    var request: String

    @Option(help: ArgumentHelp("The website, such as https://example.com.", valueName: "origin"))
    var origin: String

    @Option(
        help: ArgumentHelp(
            "The top-level page, if the website is a frame in a page of another origin.",
            valueName: "origin"
        )
    )
    var topOrigin: String?

    @OptionGroup
    var code: CodeOptions

    @Flag(help: "Show the code and the progress on a page in the browser ($BROWSER, or xdg-open).")
    var open = false

    @OptionGroup
    var options: CeremonyOptions

    @Flag(
        help: ArgumentHelp(
            "Offer to link the phone, so that it needs no code next time.",
            discussion: """
                The phone must sign in with a passkey that the request names. The response is printed first, and the \
                question follows; answer yes only if the website has accepted the sign-in. The answer is a line on \
                standard input, or on the terminal if the request is read from standard input. A registration links no \
                phone.
                """
        )
    )
    var link = false

    @Option(
        help: ArgumentHelp(
            "The linked phone to contact; default: the last used one for a sign-in, none for a new passkey.",
            valueName: "name"
        )
    )
    var phone: String?

    @Flag(help: "Contact no linked phone.")
    var noPhones = false

    @Flag(help: "Report the progress on standard error as JSON, one object per line.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Seconds to wait for a phone, then again for its user's answer; default: the request's timeout, or 120.",
            valueName: "s"
        )
    )
    var timeout: Int?

    func validate() throws {
        guard [link, phone != nil, noPhones].count(where: { $0 }) < 2 else {
            throw ValidationError("--link, --phone and --no-phones exclude each other.")
        }
        guard (1...3600).contains(timeout ?? 1) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
    }

    func run() async throws {
        // While the request is read, so that a linked phone rings earlier.
        async let _ = NetworkConfiguration.startThreads()
        let report = ProgressReport(program: HybridClient.programName, format: .detect(json: json))
        do {
            let runner = try await ShowQRRunner(self, report)
            let (response, link) = try await runner.response()
            let done = ProgressState("done", "done")
            try await runner.close { () throws(CommandFailure) in
                if !runner.offersLinking { report.end(done) }
                try StandardOutput.writeLine(response)
                // Programs that read until the end send the response to the website before the user answers.
                if runner.offersLinking { StandardOutput.finish() }
            }
            guard runner.offersLinking else { return }
            await runner.offer(link)
            report.end(done)
        } catch let failure as CommandFailure {
            report.end(failure)
            throw ExitCode(failure.status.rawValue)
        }
    }
}
