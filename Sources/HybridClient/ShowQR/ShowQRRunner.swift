// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridSession
internal import HybridWebAuthn

/// One run of `show-qr`: displays, radio, session, and the response of the phone.
struct ShowQRRunner: Sendable {
    private let configuration: ShowQRConfiguration
    private let report: ProgressReport
    private let page: CodePage?
    private let display: CodeDisplay

    /// Starts the page and creates the image file, so that their failures come before the code.
    init(_ configuration: ShowQRConfiguration, _ report: ProgressReport) async throws {
        self.configuration = configuration
        self.report = report
        page = configuration.opensPage ? try await CodePage.start(for: configuration.ceremony, report) : nil
        display = try CodeDisplay(report, configuration, page)
    }

    /// Returns the website's response as JSON; a signal or the closed page cancels.
    ///
    /// - Throws: ``CommandFailure``.
    func run() async throws -> [UInt8] {
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

    @Sendable private func performWithRadio() async throws -> [UInt8] {
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: configuration.adapter, for: .scanner)
        } catch {
            throw CommandFailure(error)
        }
        if radio.isVirtual { warnOfVirtualRadio() }
        do {
            let response = try await performCeremony(radio)
            await radio.close()
            return response
        } catch {
            await radio.close()
            throw error
        }
    }

    private func warnOfVirtualRadio() {
        display.warn(ProgressState("virtual-radio", "VIRTUAL RADIO: no proximity proof"))
        guard configuration.offersBLEChannel else { return }
        display.warn(
            ProgressState(
                "no-bluetooth-channel",
                "a virtual radio has no Bluetooth channel; only the relay is offered"
            )
        )
    }

    private func performCeremony(_ radio: BluetoothRadio) async throws -> [UInt8] {
        let ceremony = configuration.ceremony
        let session = ClientSession(
            radio: radio,
            network: configuration.network,
            timeouts: configuration.timeouts,
            offersBLEChannel: configuration.offersBLEChannel
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
