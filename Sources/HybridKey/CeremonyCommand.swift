// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridLocalPage
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads

/// The hidden command `ceremony`, the process that alone uses the network and the radio.
///
/// It reads one ``CeremonyRequest`` from standard input and writes a ``CeremonyAnswer`` or a ``CeremonyFailure`` to standard
/// output. The end of the input cancels the ceremony. It contacts a linked phone first, if there is one; for a guest, such as a website, it
/// shows the code first, and contacts the phone when the user wants that. The links are read here only, because they are of
/// no use without the network.
struct CeremonyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: CeremonyRequest.command,
        abstract: "Perform one ceremony for the agent.",
        shouldDisplay: false
    )

    @Option
    var display: CeremonyProcess.Display

    @OptionGroup
    var options: CeremonyOptions

    func run() async throws {
        // While the request is read, so that a linked phone rings earlier.
        async let _ = NetworkConfiguration.startThreads()
        let report = ProgressReport(program: HybridKey.programName, format: .detect(json: display == .json))
        let refusal = Locked<CTAPStatus?>(nil)
        do {
            let request = try CeremonyProcess.readRequest(CeremonyRequest.self)
            let wishes = CeremonyProcess.UserWishes.follow()
            let run = try await clientRun(for: request, report, wishes)
            let answer = try await Self.perform(request, run, report, refusal)
            try await run.close { () throws(CommandFailure) in
                // Before the prompt learns of success, because it closes then, which would count as a cancellation.
                guard writeAll(answer.encoded, to: STDOUT_FILENO) else { throw CommandFailure.outputNotWritten }
                report.end(ProgressState("done", "done"))
            }
        } catch let failure as CommandFailure {
            writeAll(CeremonyFailure(failure, refusal: refusal.withLock { $0 }).encoded, to: STDOUT_FILENO)
            // The prompt shows it. Otherwise, the program that has started this one reports it.
            if display == .json { report.end(failure) } else { report.end() }
            throw ExitCode(failure.status.rawValue)
        }
    }

    private func clientRun(
        for request: CeremonyRequest,
        _ report: ProgressReport,
        _ wishes: CeremonyProcess.UserWishes
    ) async throws -> ClientRun {
        let isCreation = if case .create = request.command { true } else { false }
        let subject = PageSubject(site: request.relyingPartyID.text, operation: isCreation ? .create : .signIn)
        let process = CeremonyProcess(options: options, display: display, seconds: request.seconds, report: report)
        return try await process.clientRun(subject, purpose: request.purpose) { (codeDisplay) throws(CommandFailure) in
            try Self.phones(for: request, report, codeDisplay, wishes)
        }
    }

    /// Returns the linked phones to contact; `nil` if there are none, or the links can't be read.
    ///
    /// - Throws: ``CommandFailure`` if the request names a phone that is not linked.
    private static func phones(
        for request: CeremonyRequest,
        _ report: ProgressReport,
        _ codeDisplay: CodeDisplay,
        _ wishes: CeremonyProcess.UserWishes
    ) throws(CommandFailure) -> LinkedPhones? {
        let terms = CeremonyProcess.ContactTerms(
            requester: request.isForGuest ? .guest : .program,
            needsConsent: request.needsConsent
        )
        guard let name = request.phone else {
            return terms.lastUsedPhones(for: request.command.ctapRequest.command, report, codeDisplay, wishes)
        }
        let store = try LinkStore.ofUser { report.notify(ProgressState("link-skipped", $0)) }
        let links = try store.links(to: name)
        guard !links.isEmpty else { throw CommandFailure(unknownPhone: name) }
        return terms.phones(store, links, codeDisplay, wishes)
    }

    private static func perform(
        _ request: CeremonyRequest,
        _ run: ClientRun,
        _ report: ProgressReport,
        _ refusal: Locked<CTAPStatus?>
    ) async throws -> CeremonyAnswer {
        try await run.perform(
            request.command.ctapRequest,
            for: { phone throws(CommandFailure) in try request.ctapRequest(for: phone) },
            answer: { result in
                guard result.response.status == .success else {
                    // The security key passes some refusals on to its client.
                    refusal.withLock { $0 = result.response.status }
                    throw PhoneRefusal(result.response.status, for: request.relyingPartyID)
                }
                remember(result, of: request, report)
                let presentsCredentials = result.features.contains(.digitalCredentials)
                if let warning = request.warning(of: result.info, presentsCredentials: presentsCredentials) {
                    report.notify(ProgressState("old-iphone", warning))
                }
                let isVerified = try verify(result, of: request, report)
                let phone = result.linkedPhone?.description
                return CeremonyAnswer(response: result.response.encoded, phone: phone, isVerified: isVerified)
            }
        )
    }

    /// Verifies that the results are those of the passkey, if its public key is known since its creation.
    ///
    /// Otherwise a stranger who scans the code could choose the results with which a file is encrypted.
    ///
    /// - Returns: True if the key is known.
    /// - Throws: ``CommandFailure`` if the signature is that of another key.
    private static func verify(
        _ result: ClientResult,
        of request: CeremonyRequest,
        _ report: ProgressReport
    ) throws(CommandFailure) -> Bool {
        guard request.needsSecret, case .sign(let command) = request.command,
            let store = try? LinkStore.ofUser(warn: { report.notify(ProgressState("link-skipped", $0)) })
        else { return false }
        guard let isGenuine = store.createdPasskeys.keys().verifies(result.response, to: command) else { return false }
        guard isGenuine else {
            throw CommandFailure(
                "the answer is not from the phone that has this passkey, so another person may have scanned the code; try again",
                code: "foreign-phone",
                status: .notPermitted
            )
        }
        return true
    }

    /// Remembers the public key of a new passkey for later links, as `hybrid-client show-qr` does.
    ///
    /// SSH keys are remembered elsewhere, and no website knows them.
    private static func remember(_ result: ClientResult, of request: CeremonyRequest, _ report: ProgressReport) {
        guard case .create(let creation) = request.command, creation.signedDataKind == nil,
            let passkey = CreatedPasskeys.passkey(in: result.response, to: .makeCredential(creation)),
            let store = try? LinkStore.ofUser(warn: { report.notify(ProgressState("link-skipped", $0)) })
        else { return }
        store.createdPasskeys.add(passkey, of: request.relyingPartyID)
    }
}
