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
/// It reads one ``CeremonyRequest`` from standard input and writes a ``CeremonyAnswer`` to standard output. The end
/// of the input cancels the ceremony. It contacts a linked phone first, if there is one; for a guest, such as a website, it
/// shows the code first, and contacts the phone when the user wants that. The links are read here only, because they are of
/// no use without the network.
struct CeremonyCommand: AsyncParsableCommand {
    static let name = "ceremony"

    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Perform one ceremony for the agent.",
        shouldDisplay: false
    )

    /// The place where the code is shown.
    enum Display: String, ExpressibleByArgument {
        case json, page, terminal
    }

    @Option
    var display: Display

    @OptionGroup
    var options: CeremonyOptions

    func run() async throws {
        // While the request is read, so that a linked phone rings earlier.
        async let _ = NetworkConfiguration.startThreads()
        let report = ProgressReport(program: HybridKey.programName, format: .detect(json: display == .json))
        do {
            let request = try Self.readRequest()
            let wishes = UserWishes()
            Self.followInput(wishes)
            let run = try await clientRun(for: request, report, wishes)
            let answer = try await Self.perform(request, run, report)
            try await run.close { () throws(CommandFailure) in
                // Before the prompt learns of success, because it closes then, which would count as a cancellation.
                guard writeAll(answer.encoded, to: STDOUT_FILENO) else { throw CommandFailure.outputNotWritten }
                report.end(ProgressState("done", "done"))
            }
        } catch let failure as CommandFailure {
            report.end(failure)
            throw ExitCode(failure.status.rawValue)
        }
    }

    private static func readRequest() throws(CommandFailure) -> CeremonyRequest {
        guard let header = read(CeremonyRequest.headerLength), let length = CeremonyRequest.length(header: header),
            let map = read(length), let request = CeremonyRequest(parsing: map)
        else { throw CommandFailure("standard input has no request; the agent starts this command", status: .usage) }
        return request
    }

    /// The wishes of the user in the window; each becomes true once.
    private struct UserWishes {
        let showCode = AwaitableState(false)
        let usePhone = AwaitableState(false)
    }

    /// Follows the input after the request on a thread: wishes of the user, or the end.
    private static func followInput(_ wishes: UserWishes) {
        let (showCode, usePhone) = (wishes.showCode, wishes.usePhone)
        _ = DedicatedThread.start {
            while let byte = read(1)?.first {
                guard let wish = [CeremonyRequest.showCode: showCode, CeremonyRequest.usePhone: usePhone][byte] else {
                    break
                }
                wish.change { $0 = true }
            }
            // The signal handler cancels the ceremony. Other input counts as the end.
            kill(getpid(), SIGTERM)
        }
    }

    /// Reads exactly `count` bytes; returns `nil` if the input ends before.
    private static func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let new = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(STDIN_FILENO, buffer.baseAddress.map { $0 + filled }, count - filled)
            }
            if new < 0, errno == EINTR { continue }
            guard new > 0 else { return nil }
            filled += new
        }
        return bytes
    }

    private func clientRun(
        for request: CeremonyRequest,
        _ report: ProgressReport,
        _ wishes: UserWishes
    ) async throws -> ClientRun {
        let settings = try KeySettings.resolve(options)
        let isCreation = if case .create = request.command { true } else { false }
        let subject = PageSubject(site: request.relyingPartyID.text, operation: isCreation ? .create : .signIn)
        let page = display == .page ? try await CodePage.start(subject, report) : nil
        let codeDisplay = try CodeDisplay(report, page, purpose: request.purpose)
        codeDisplay.warn(ProgressState("purpose", request.purpose))
        var timeouts = ClientTimeouts()
        (timeouts.untilPhoneFound, timeouts.untilAnswered) = (.seconds(request.seconds), .seconds(request.seconds))
        return ClientRun(
            adapter: options.network.adapter,
            network: try options.networkConfiguration(settings),
            timeouts: timeouts,
            offersBLEChannel: try settings.value(CeremonySettings.bleChannel),
            report: report,
            page: page,
            display: codeDisplay,
            phones: try Self.phones(for: request, report, codeDisplay, wishes)
        )
    }

    /// Returns the linked phones to contact; `nil` if there are none, or the links can't be read.
    ///
    /// - Throws: ``CommandFailure`` if the request names a phone that is not linked.
    private static func phones(
        for request: CeremonyRequest,
        _ report: ProgressReport,
        _ codeDisplay: CodeDisplay,
        _ wishes: UserWishes
    ) throws(CommandFailure) -> LinkedPhones? {
        let requester: Requester = request.isForGuest ? .guest : .program
        let consent = request.needsConsent ? ContactConsent(isGiven: wishes.usePhone, ask: codeDisplay.offer) : nil
        if let name = request.phone {
            let store = try LinkStore.ofUser { report.notify(ProgressState("link-skipped", $0)) }
            let links = try store.links(to: name)
            guard !links.isEmpty else { throw CommandFailure(unknownPhone: name) }
            return LinkedPhones(store, links, for: requester, isCodeRequested: wishes.showCode, consent: consent)
        }
        let store = try? LinkStore.ofUser { report.notify(ProgressState("link-skipped", $0)) }
        guard let store, let links = try? store.links() else { return nil }
        let chosen = LinkedPhones.lastUsed(links, for: request.command.ctapRequest.command)
        return LinkedPhones(store, chosen, for: requester, isCodeRequested: wishes.showCode, consent: consent)
    }

    private static func perform(
        _ request: CeremonyRequest,
        _ run: ClientRun,
        _ report: ProgressReport
    ) async throws -> CeremonyAnswer {
        try await run.perform(
            request.command.ctapRequest,
            for: { phone throws(Never) in request.ctapRequest(for: phone) },
            answer: { result in
                guard result.response.status == .success else {
                    // The security key passes some refusals on to its client.
                    writeAll([result.response.status.rawValue], to: STDOUT_FILENO)
                    throw PhoneRefusal(result.response.status, for: request.relyingPartyID)
                }
                remember(result, of: request, report)
                let phone = result.linkedPhone?.description
                return CeremonyAnswer(response: result.response.encoded, phone: phone)
            }
        )
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
