// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridLocalPage
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent
internal import HybridSession

/// The command `hybrid-key link`, which links the phone that has an SSH key of this computer.
struct LinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Link the phone that has an SSH key, so that it needs no code next time.",
        discussion: """
            The phone scans a code and signs random data with the key. This computer verifies the signature, so another \
            device that scans the code is not linked. Then it asks whether to link the phone; the answer is a line on \
            standard input. hybrid-client phones lists the linked phones.
            """
    )

    @Argument(help: ArgumentHelp("The fingerprint, or the name; may be omitted if there is one key.", valueName: "key"))
    var key: String?

    @OptionGroup
    var code: CodeOptions

    @Flag(help: "Show the code and the progress on a page in the browser ($BROWSER, or xdg-open).")
    var open = false

    @Flag(help: "Report the progress on standard error as JSON, one object per line.")
    var json = false

    @Option(help: ArgumentHelp("Seconds to wait for a phone, then again for its user's answer.", valueName: "s"))
    var timeout = 120

    @OptionGroup
    var options: CeremonyOptions

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
    }

    func run() async throws {
        let report = ProgressReport(program: HybridKey.programName, format: .detect(json: json))
        do {
            let folder = try KeySettings.stateFolder()
            let store = try LinkStore.ofUser { report.notify(ProgressState("link-skipped", $0)) }
            let key = try chosenKey(SSHKeyStore(in: folder))
            var generator = SystemRandomNumberGenerator()
            guard let proof = LinkProof(key, seconds: timeout, using: &generator) else {
                throw CommandFailure("internal fault: no request; please report it", status: .software)
            }
            let run = try await clientRun(proof, report)
            announce(key, report)
            let offered: OfferedLink
            do {
                offered = try await Self.offer(of: key, proof, run)
                Self.record(proof, "signed", in: folder, report)
            } catch let failure as CommandFailure {
                Self.record(proof, "failed: \(failure.code)", in: folder, report)
                throw failure
            }
            try await run.close { () throws(CommandFailure) in }
            try await LinkQuestion(readsTerminal: false).link(offered, in: store, report)
            report.end(ProgressState("done", "done"))
        } catch let failure as CommandFailure {
            report.end(failure)
            throw ExitCode(failure.status.rawValue)
        }
    }

    private func chosenKey(_ store: SSHKeyStore) throws(CommandFailure) -> StoredSSHKey {
        if let key { return try store.key(key) }
        let keys = try store.keys()
        guard let only = keys.first else {
            throw CommandFailure(
                "there is no SSH key; create one on the phone: hybrid-key ssh-keygen",
                code: "no-ssh-key",
                status: .noInput
            )
        }
        guard keys.count == 1 else {
            throw CommandFailure(
                "there are \(keys.count) SSH keys; name one of: hybrid-key ssh-keys list --fingerprints",
                status: .usage
            )
        }
        return only
    }

    private func clientRun(_ proof: LinkProof, _ report: ProgressReport) async throws -> ClientRun {
        let settings = try KeySettings.resolve(options)
        try settings.checkCertificates(CeremonySettings.cacert, with: TrustAnchors.check)
        let subject = PageSubject(site: proof.request.relyingPartyID.text, operation: .signIn)
        let page = open ? try await CodePage.start(subject, report) : nil
        var timeouts = ClientTimeouts()
        (timeouts.untilPhoneFound, timeouts.untilAnswered) = (.seconds(timeout), .seconds(timeout))
        return ClientRun(
            adapter: options.network.adapter,
            network: try options.networkConfiguration(settings),
            timeouts: timeouts,
            offersBLEChannel: try settings.value(CeremonySettings.bleChannel),
            report: report,
            page: page,
            display: try CodeDisplay(
                report,
                page,
                imagePath: code.qrOutput,
                printsText: code.printUrl,
                purpose: proof.request.purpose
            ),
            linking: LinkOfferPolicy(knownKey: proof.publicKey)
        )
    }

    /// Reports the purpose of the code to programs that show it to the user.
    private func announce(_ key: StoredSSHKey, _ report: ProgressReport) {
        report.emit(
            "request",
            [
                ("operation", .string("link")), ("key", .string("\(key.comment)")),
                ("fingerprint", .string("\(key.publicKey.fingerprint)")),
                ("rp_id", .string(key.relyingPartyID.text)), ("timeout_ms", .number(timeout * 1000)),
            ]
        )
    }

    /// Performs the ceremony and returns the link that the phone with the key offers.
    ///
    /// - Throws: ``CommandFailure`` if the signature is not by the key, or no link is offered.
    private static func offer(of key: StoredSSHKey, _ proof: LinkProof, _ run: ClientRun) async throws -> OfferedLink {
        let request = proof.request
        return try await run.perform(
            request.command.ctapRequest,
            for: { phone throws(CommandFailure) in try request.ctapRequest(for: phone) },
            answer: { result in
                guard result.response.status == .success else {
                    throw PhoneRefusal(result.response.status, for: request.relyingPartyID)
                }
                guard proof.isVerified(by: result.response.encoded) else {
                    throw CommandFailure(
                        "not linked: the device that answered has not signed with this SSH key; use the phone that has it",
                        code: "wrong-ssh-key",
                        status: .dataError
                    )
                }
                guard var offered = result.offeredLink, offered.link.evidence == .verified else {
                    throw CommandFailure(
                        "not linked: the phone has offered no link; agree to the link on the phone",
                        code: "no-link-offered",
                        status: .notPermitted
                    )
                }
                offered.link.verifyingKey = "\(key.publicKey.fingerprint)"
                return offered
            }
        )
    }

    /// Records the request in the journal; a failure is a notice, because it does not affect the link.
    private static func record(
        _ proof: LinkProof,
        _ result: String,
        in folder: StateFolder,
        _ report: ProgressReport
    ) {
        let request = proof.request
        Journal(in: folder).record(request.purpose, of: request.relyingPartyID.text, by: .link, result: result) {
            report.notify(ProgressState("not-recorded", $0))
        }
    }
}
