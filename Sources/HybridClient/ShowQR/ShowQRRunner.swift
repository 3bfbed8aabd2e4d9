// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridLocalPage
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridWebAuthn

/// A run of `show-qr`: a website's request, and the response for its server.
struct ShowQRRunner: Sendable {
    private let ceremony: Ceremony
    private let run: ClientRun
    private let report: ProgressReport
    /// Maximum time until a phone has been found.
    private let limit: Duration
    private let store: LinkStore?
    /// The linked phone that the user has named.
    private let namedPhone: String?
    private let linkQuestion: LinkQuestion?

    /// Creates a run: reads settings, certificates and the request, starts the page and creates the image file.
    ///
    /// All of these can fail before a code is shown. The radio is not used; the network is used only for the page's
    /// loopback address, and for the related origins of a relying party ID of another domain.
    init(_ flags: ShowQRCommand, _ report: ProgressReport) async throws {
        let settings = try ClientSettings.resolve(flags.options)
        try settings.checkCertificates(CeremonySettings.cacert, with: TrustAnchors.check)
        let network = try flags.options.networkConfiguration(settings)
        ceremony = try await flags.ceremony(network)
        self.report = report
        var timeouts = ClientTimeouts()
        limit = flags.timeout.map { .seconds($0) } ?? ceremony.timeout ?? timeouts.untilPhoneFound
        (timeouts.untilPhoneFound, timeouts.untilAnswered) = (limit, limit)
        let subject = PageSubject(
            site: ceremony.relyingPartyID.description,
            operation: ceremony.ctapRequest.command == .makeCredential ? .create : .signIn
        )
        linkQuestion = flags.link ? LinkQuestion(readsTerminal: flags.request == "-") : nil
        store = try flags.linkStore(report)
        namedPhone = flags.phone
        let page = flags.open ? try await CodePage.start(subject, report) : nil
        run = ClientRun(
            adapter: flags.options.network.adapter,
            network: network,
            timeouts: timeouts,
            offersBLEChannel: try settings.value(CeremonySettings.bleChannel),
            report: report,
            page: page,
            display: try CodeDisplay(report, page, imagePath: flags.code.qrOutput, printsText: flags.code.printUrl),
            phones: try Self.phones(flags, store, for: ceremony.ctapRequest.command, report),
            linking: flags.link ? Self.linking(store) : nil
        )
    }

    /// Returns the terms for a link, with the keys that this computer knows.
    private static func linking(_ store: LinkStore?) -> LinkOfferPolicy {
        let keys = store?.createdPasskeys.keys()
        return LinkOfferPolicy(knownKey: { id, site in keys?.key(id, of: site) })
    }

    /// Returns the linked phones to contact; `nil` if there are none, or the session is locked.
    private static func phones(
        _ flags: ShowQRCommand,
        _ store: LinkStore?,
        for command: CTAPCommand,
        _ report: ProgressReport
    ) throws(CommandFailure) -> LinkedPhones? {
        guard let phones = try chosenPhones(flags, store, for: command) else { return nil }
        // The user may be away, so the request may be that of another program.
        guard !SessionLock.isLocked() else {
            let text = "the session is locked, so no linked phone is contacted; scan the code"
            report.notify(ProgressState("session-locked", text))
            return nil
        }
        return phones
    }

    private static func chosenPhones(
        _ flags: ShowQRCommand,
        _ store: LinkStore?,
        for command: CTAPCommand
    ) throws(CommandFailure) -> LinkedPhones? {
        guard let store, !flags.link, !flags.noPhones else { return nil }
        guard let name = flags.phone else {
            // Links that can't be read must not prevent a sign-in with a code.
            return (try? store.links()).flatMap {
                LinkedPhones(store, LinkedPhones.lastUsed($0, for: command), for: .program)
            }
        }
        let links = try store.links(to: name)
        guard !links.isEmpty else { throw CommandFailure(unknownPhone: name) }
        return LinkedPhones(store, links, for: .program)
    }

    /// Performs the ceremony and returns the response for the website as JSON, and the link that the phone offers.
    ///
    /// - Throws: ``CommandFailure``.
    func response() async throws -> (json: [UInt8], link: OfferedLink?) {
        reportRequest()
        let (response, result) = try await run.perform(ceremony)
        if let passkey = CreatedPasskeys.passkey(in: result.response, to: ceremony.ctapRequest) {
            reportCreation(of: passkey, by: result.linkedPhone)
            store?.createdPasskeys.add(passkey, of: ceremony.relyingPartyID)
        }
        return (response, result.offeredLink)
    }

    /// Reports the phone that has created a passkey, if the user has named one: another one may have scanned the code.
    private func reportCreation(of passkey: AttestedCredential, by phone: PhoneName?) {
        guard let namedPhone else { return }
        let creator = CreatorText(linkedPhone: phone?.description, named: namedPhone)
        let fingerprint = passkey.publicKey.fingerprint
        var details = [("fingerprint", fingerprint)]
        if let phone { details.append(("phone", phone.description)) }
        let text = "\(creator) has created the passkey with the fingerprint \(fingerprint)"
        report.notify(ProgressState("passkey-created", text, details: details))
    }

    /// True if the user wants to link the phone.
    var offersLinking: Bool { linkQuestion != nil }

    /// Runs `body`, which prints the response, and waits until the tunnels are closed in order.
    func close(after body: @escaping @Sendable () throws(CommandFailure) -> Void) async throws {
        try await run.close(after: body)
    }

    /// Asks the user about a link and stores it; a failure does not affect the response.
    ///
    /// The response has been handed out already, because the user must know whether the website has accepted it.
    func offer(_ offered: OfferedLink?) async {
        guard let linkQuestion, let store else { return }
        guard let offered else {
            let reason = "the phone has offered no link, or has not signed in with a passkey that the request names"
            return report.notify(ProgressState("not-linked", "not linked: \(reason)"))
        }
        do throws(CommandFailure) {
            try await linkQuestion.link(offered, in: store, report)
        } catch {
            report.notify(ProgressState("not-linked", error.sentence, details: [("code", error.code)]))
        }
    }

    /// Reports the purpose of the code to programs that show it to the user.
    private func reportRequest() {
        let isCreation = ceremony.ctapRequest.command == .makeCredential
        report.emit(
            "request",
            [
                ("operation", .string(isCreation ? "create" : "sign-in")),
                ("rp_id", .string(ceremony.relyingPartyID.description)),
                ("timeout_ms", .number(Int(limit / .milliseconds(1)))),
            ]
        )
    }
}
