// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession
internal import HybridWebAuthn

/// A run of `show-qr` with its displays, radio and session.
struct ShowQRRunner: Sendable {
    private let ceremony: Ceremony
    private let adapter: AdapterName?
    private let network: NetworkConfiguration
    private let timeouts: ClientTimeouts
    private let offersBLEChannel: Bool
    private let report: ProgressReport
    private let page: CodePage?
    private let display: CodeDisplay

    /// Creates a run: reads settings, certificates and the request, starts the page and creates the image file.
    ///
    /// All of these can fail before a code is shown. Neither the radio nor the network is used, except the loopback
    /// address of the page.
    init(_ flags: ShowQR, _ report: ProgressReport) async throws {
        var given = GivenFlags()
        given.set(ClientSettings.cacert, flags.cacert)
        given.set(ClientSettings.bleChannel, flags.bleChannel)
        let settings = try ClientSettings.resolve(given)
        try settings.checkCertificates(ClientSettings.cacert, with: TrustAnchors.check)
        ceremony = try flags.ceremony()
        adapter = flags.network.adapter
        network = NetworkConfiguration(
            connectTo: flags.network.connectTo,
            trustedCertificates: try settings.value(ClientSettings.cacert),
            proxies: ProxySettings(environment: ProcessEnvironment.variables)
        )
        var timeouts = ClientTimeouts()
        let limit = flags.timeout.map { .seconds($0) } ?? ceremony.timeout ?? timeouts.untilPhoneFound
        (timeouts.untilPhoneFound, timeouts.untilAnswered) = (limit, limit)
        self.timeouts = timeouts
        offersBLEChannel = try settings.value(ClientSettings.bleChannel)
        self.report = report
        page = flags.open ? try await CodePage.start(for: ceremony, report) : nil
        display = try CodeDisplay(report, page, imagePath: flags.qrOutput, printsText: flags.printUrl)
    }

    /// Performs the ceremony and returns the response for the website as JSON.
    ///
    /// A signal cancels the ceremony; so does closing the page.
    ///
    /// - Throws: ``CommandFailure``.
    func run() async throws -> [UInt8] {
        reportRequest()
        let ending = await withTerminationSignals {
            try await report.updatingElapsedTime {
                guard let page else { return try await performWithRadio() }
                return try await page.whileOpen(performWithRadio)
            }
        }
        display.cleanUp()
        await page?.end(ending)
        if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
        return try ending.result.get()
    }

    /// Reports the purpose of the code to programs that show it to the user.
    private func reportRequest() {
        let isCreation = ceremony.ctapRequest.command == .makeCredential
        report.emit(
            "request",
            [
                ("operation", .string(isCreation ? "create" : "sign-in")),
                ("rp_id", .string(ceremony.relyingPartyID.description)),
                ("timeout_ms", .number(Int(timeouts.untilPhoneFound / .milliseconds(1)))),
            ]
        )
    }

    @Sendable private func performWithRadio() async throws -> [UInt8] {
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: adapter, for: .scanner)
        } catch {
            throw CommandFailure(error)
        }
        if radio.isVirtual { warnOfVirtualRadio(radio.unverifiedBus) }
        return try await withCleanup {
            await radio.close()
        } of: {
            try await performCeremony(radio)
        }
    }

    private func warnOfVirtualRadio(_ unverifiedBus: String?) {
        display.warn(ProgressState("virtual-radio", "VIRTUAL RADIO: no proximity proof"))
        if let unverifiedBus { display.warn(ProgressState("unverified-bus", unverifiedBus)) }
        guard offersBLEChannel else { return }
        display.warn(
            ProgressState("no-bluetooth-channel", "a virtual radio has no Bluetooth channel; only the relay is offered")
        )
    }

    private func performCeremony(_ radio: BluetoothRadio) async throws -> [UInt8] {
        let session = ClientSession(
            radio: radio,
            network: network,
            timeouts: timeouts,
            offersBLEChannel: offersBLEChannel
        )
        do {
            let result = try await session.perform(
                ceremony.ctapRequest,
                for: { phone throws(MissingAbility) in try ceremony.ctapRequest(for: phone) },
                events: display.show
            )
            guard result.response.status == .success else {
                throw PhoneRefusal(result.response.status, for: ceremony.relyingPartyID)
            }
            return try ceremony.responseJSON(body: result.response.body, phone: result.info)
        } catch let failure as any WebAuthnFailure {
            throw CommandFailure(webAuthn: failure)
        } catch let failure as ClientFailure {
            throw CommandFailure(failure)
        }
    }
}

extension CommandFailure {
    /// Creates a failure whose sentence ends with the name of the exception that a browser would throw.
    init(webAuthn failure: some WebAuthnFailure) {
        self.init(
            "\(failure.sentence) (\(failure.name.rawValue))",
            code: failure.code,
            status: failure.status,
            details: ["webauthn_error": failure.name.rawValue]
        )
    }
}
