// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridLocalPage
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent
internal import HybridSession
internal import HybridWebAuthn

/// The hidden command `website`, the process of a ceremony for a website in a browser on another host.
///
/// It reads one ``WebsiteRequest`` from standard input and writes a ``CeremonyAnswer`` with a ``WebsiteAnswer`` to standard
/// output, also after a failure. The end of the input cancels the ceremony. It makes the client data itself: the other
/// host's word counts only for the origin and the options.
struct WebsiteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: WebsiteRequest.command,
        abstract: "Perform one ceremony for a website, for the agent.",
        shouldDisplay: false
    )

    @Option
    var display: CeremonyProcess.Display

    @OptionGroup
    var options: CeremonyOptions

    func run() async throws {
        async let _ = NetworkConfiguration.startThreads()
        let report = ProgressReport(program: HybridKey.programName, format: .detect(json: display == .json))
        do {
            let request = try CeremonyProcess.readRequest(WebsiteRequest.self)
            let wishes = CeremonyProcess.UserWishes.follow()
            let (run, response) = try await perform(request, wishes, report)
            try await run.close { () throws(CommandFailure) in
                // Before the prompt learns of success, because it closes then, which would count as a cancellation.
                try Self.write(WebsiteAnswer(.response(response)))
                report.end(ProgressState("done", "done"))
            }
        } catch let failure as CommandFailure {
            // The prompt shows it. Otherwise, the agent reports it.
            if display == .json { report.end(failure) } else { report.end() }
            guard failure.status != .interrupted else { throw ExitCode(failure.status.rawValue) }
            let cause = CeremonyFailure(failure).failure
            try Self.write(
                WebsiteAnswer(.failure(RemoteAnswer.Failure(failure)), cause: "\(cause.sentence) (\(cause.code))")
            )
        }
    }

    private func perform(
        _ request: WebsiteRequest,
        _ wishes: CeremonyProcess.UserWishes,
        _ report: ProgressReport
    ) async throws -> (ClientRun, JSONText) {
        let message = request.message
        let network = try options.networkConfiguration(try KeySettings.resolve(options))
        let ceremony: Ceremony
        do {
            let origin = try Origin(message.origin)
            let top = try message.topOrigin.map { try Origin($0) }
            let options = try PublicKeyOptions(json: message.request)
            ceremony = try await Ceremony.checked(options, origin: origin, topOrigin: top, network)
        } catch let failure as any WebAuthnFailure {
            throw CommandFailure(webAuthn: failure)
        } catch let failure as any ExplainedFailure {
            throw CommandFailure(failure)
        }
        let subject = PageSubject(
            site: ceremony.relyingPartyID.description,
            operation: message.operation == .create ? .create : .signIn
        )
        let process = CeremonyProcess(options: options, display: display, seconds: request.seconds, report: report)
        // A host that may ask without a question must not ring a phone.
        let terms = CeremonyProcess.ContactTerms(requester: .guest, needsConsent: !request.hasAgreed)
        let run = try await process.clientRun(subject, purpose: request.purpose) {
            (codeDisplay) throws(CommandFailure) in
            terms.lastUsedPhones(for: ceremony.ctapRequest.command, report, codeDisplay, wishes)
        }
        let (json, result) = try await run.perform(ceremony)
        if let passkey = CreatedPasskeys.passkey(in: result.response, to: ceremony.ctapRequest) {
            let store = try? LinkStore.ofUser { report.notify(ProgressState("link-skipped", $0)) }
            store?.createdPasskeys.add(passkey, of: ceremony.relyingPartyID)
        }
        guard let response = try? JSONText(parsing: json) else { throw CommandFailure.unusableAnswer }
        return (run, response)
    }

    private static func write(_ answer: WebsiteAnswer) throws(CommandFailure) {
        let encoded = CeremonyAnswer(response: answer.encoded, phone: nil).encoded
        guard writeAll(encoded, to: 1) else { throw CommandFailure.outputNotWritten }
    }
}

extension CommandFailure {
    fileprivate static let unusableAnswer = CommandFailure("the response is not JSON", status: .software)
}

extension RemoteAnswer.Failure {
    /// Creates a failure: the name that a browser would report to the website, and the little that the host learns.
    init(_ failure: CommandFailure) {
        let name = failure.details["webauthn_error"].flatMap(WebAuthnErrorName.init)
        let code: RemoteFailureCode =
            switch (failure.status, name) {
            case (_, .typeError), (_, .syntaxError), (_, .encodingError), (_, .securityError), (_, .notSupportedError):
                .unusable
            // The name says already what the phone has.
            case (_, .invalidStateError): .failed
            case (.notPermitted, _): .refused
            case (.temporary, _): .timedOut
            default: .failed
            }
        self.init(code, name: (name ?? .notAllowedError).rawValue)
    }
}
