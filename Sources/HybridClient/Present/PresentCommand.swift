// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridWebAuthn

/// The command `hybrid-client present`, which requests a digital credential and prints it.
struct PresentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "present",
        abstract: "Show a code, and print the digital credential that a phone presents.",
        discussion: """
            The request is {"digital": …} with the options that a website passes to navigator.credentials.get(), as \
            JSON. Standard output carries only the credential as JSON: the protocol and the data for the website's \
            server. It contains personal data and is written nowhere else. The phone shows the origin to its user and \
            trusts this program to name the true one.
            """
    )

    @Option(help: ArgumentHelp("The website's request; a dash reads standard input.", valueName: "file|-"))
    var request: String

    @Option(help: ArgumentHelp("The website, such as https://example.com.", valueName: "origin"))
    var origin: String

    @Flag(help: "Issue a credential to the phone's wallet: the request is for navigator.credentials.create().")
    var issue = false

    @OptionGroup
    var code: CodeOptions

    @OptionGroup
    var options: CeremonyOptions

    @Flag(help: "Report the progress on standard error as JSON, one object per line.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Seconds to wait for a phone, then again for its user's answer; default: 120.",
            valueName: "s"
        )
    )
    var timeout: Int = 120

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
    }

    func run() async throws {
        let report = ProgressReport(program: HybridClient.programName, format: .detect(json: json))
        do {
            let (credential, run) = try await credential(report)
            // The credential need not wait for the orderly close of the tunnel.
            try await run.close { () throws(CommandFailure) in
                report.end(ProgressState("done", "done"))
                try StandardOutput.writeLine(credential)
            }
        } catch let failure as CommandFailure {
            report.end(failure)
            throw ExitCode(failure.status.rawValue)
        }
    }

    private func credential(_ report: ProgressReport) async throws -> (json: [UInt8], run: ClientRun) {
        let settings = try ClientSettings.resolve(options)
        try settings.checkCertificates(CeremonySettings.cacert, with: TrustAnchors.check)
        let request = try credentialRequest()
        reportRequest(request, report)
        var timeouts = ClientTimeouts()
        (timeouts.untilPhoneFound, timeouts.untilAnswered) = (.seconds(timeout), .seconds(timeout))
        let run = ClientRun(
            adapter: options.network.adapter,
            network: try options.networkConfiguration(settings),
            timeouts: timeouts,
            offersBLEChannel: try settings.value(CeremonySettings.bleChannel),
            report: report,
            page: nil,
            display: try CodeDisplay(report, nil, imagePath: code.qrOutput, printsText: code.printUrl)
        )
        let hint: RequestHint = issue ? .issueCredential : .presentCredential
        let json = try await run.present(request.message, hint: hint) { reply in
            try DigitalCredentialResponse(reply: reply, to: request).json
        }
        return (json, run)
    }

    /// Reads and checks the website's request, whose message must fit into one frame.
    private func credentialRequest() throws -> DigitalCredentialRequest {
        let site = try RequestFile.origin(origin, of: "--origin")
        do {
            let tooLong = DigitalCredentialError.requestTooLong
            let limit = DigitalCredentialRequest.maximumBytes
            let bytes = try RequestFile(path: self.request).contents(atMost: limit, orThrow: tooLong)
            let operation: DigitalCredentialRequest.Operation = issue ? .issuance : .presentation
            let request = try DigitalCredentialRequest(json: bytes, operation: operation, origin: site)
            guard request.message.count <= ChannelMessage.maximumBodyLength else { throw tooLong }
            return request
        } catch let error as DigitalCredentialError {
            throw CommandFailure(error)
        }
    }

    /// Reports the purpose of the code to programs that show it to the user.
    private func reportRequest(_ request: DigitalCredentialRequest, _ report: ProgressReport) {
        report.emit(
            "request",
            [
                ("operation", .string(issue ? "issue" : "present")),
                ("origin", .string(request.origin)),
                ("timeout_ms", .number(timeout * 1000)),
            ]
        )
    }
}
