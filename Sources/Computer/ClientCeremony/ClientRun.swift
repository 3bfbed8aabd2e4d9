// SPDX-License-Identifier: Apache-2.0

package import HybridBLEAdvert
package import HybridCTAP
package import HybridCaBLE
package import HybridCommandSupport
internal import HybridDataChannel
package import HybridNetwork
internal import HybridPrimitives
package import HybridProgram
package import HybridSession
package import HybridWebAuthn

/// A run of a command that performs one ceremony, with its radio, session, displays and signals.
package struct ClientRun: Sendable {
    private let adapter: AdapterName?
    private let network: NetworkConfiguration
    private let timeouts: ClientTimeouts
    private let offersBLEChannel: Bool
    private let report: ProgressReport
    private let page: CodePage?
    private let display: CodeDisplay
    private let phones: LinkedPhones?
    private let linking: LinkOfferPolicy?
    private let closing = ClosingTunnels()

    /// Creates a run.
    ///
    /// Neither the radio nor the network is used yet.
    ///
    /// - Parameters:
    ///   - adapter: The Bluetooth adapter; `nil` for the first that is on.
    ///   - network: Settings for the connection to the relay.
    ///   - timeouts: Limits for each wait.
    ///   - offersBLEChannel: True if the code also offers a connection over Bluetooth.
    ///   - report: The report on standard error.
    ///   - page: The page in the browser, if there is one.
    ///   - display: The displays of the code.
    ///   - phones: The linked phones that are contacted first, if there are any.
    ///   - linking: The terms on which the phone that scans the code may be linked; `nil` to offer no linking.
    package init(
        adapter: AdapterName?,
        network: NetworkConfiguration,
        timeouts: ClientTimeouts,
        offersBLEChannel: Bool,
        report: ProgressReport,
        page: CodePage?,
        display: CodeDisplay,
        phones: LinkedPhones? = nil,
        linking: LinkOfferPolicy? = nil
    ) {
        self.adapter = adapter
        self.network = network
        self.timeouts = timeouts
        self.offersBLEChannel = offersBLEChannel
        self.report = report
        self.page = page
        self.display = display
        self.phones = phones
        self.linking = linking
    }

    /// Runs `body`, which prints the result of the command, and waits until the tunnels are closed in order.
    ///
    /// ``perform(_:for:answer:)`` does not wait for that if it succeeds, because it takes round trips to the relay. A
    /// signal ends the wait, but not the program: its result is printed, and the exit status is that of the result.
    ///
    /// - Throws: ``CommandFailure``, also from `body`.
    package func close(after body: @escaping @Sendable () throws(CommandFailure) -> Void) async throws {
        let ending = await withTerminationSignals { try await withCleanup(closing.finish) { try body() } }
        try ending.result.get()
    }

    /// Performs the ceremony.
    ///
    /// A signal cancels it; so does closing the page.
    ///
    /// - Parameters:
    ///   - request: The request for a phone that supports all features.
    ///   - adapted: Returns the request for this phone.
    ///   - answer: Returns the result of the command for the result of the ceremony.
    /// - Throws: ``CommandFailure``.
    package func perform<Unfit: Error, Answer: Sendable>(
        _ request: CTAPRequest,
        for adapted: @escaping @Sendable (AuthenticatorInfo) throws(Unfit) -> CTAPRequest,
        answer: @escaping @Sendable (ClientResult) throws -> Answer
    ) async throws -> Answer {
        try await perform { try answer(try await result(request, for: adapted)) }
    }

    /// Performs an exchange about digital credentials; linked phones are not contacted.
    ///
    /// A signal cancels it; so does closing the page.
    ///
    /// - Parameters:
    ///   - request: The body of the request.
    ///   - hint: The hint in the code.
    ///   - answer: Returns the result of the command for the reply.
    /// - Throws: ``CommandFailure``.
    package func present<Answer: Sendable>(
        _ request: [UInt8],
        hint: RequestHint,
        answer: @escaping @Sendable ([UInt8]) throws -> Answer
    ) async throws -> Answer {
        try await perform {
            try answer(try await withCode { try await $0.present(request, hint: hint, events: display.show) })
        }
    }

    /// Performs the receiver's side of a transfer; linked phones are not contacted.
    ///
    /// A signal cancels it; so does closing the page. What is stored by then counts: the value of `body` is returned in
    /// spite of a signal.
    ///
    /// - Parameters:
    ///   - purpose: The purpose, which the code names.
    ///   - prepare: Called with the radio before the code is shown.
    ///   - events: Called with each event.
    ///   - body: The transfer after the handshake, with what `prepare` has returned.
    /// - Throws: ``CommandFailure``.
    package func receive<Prepared: Sendable, Outcome: Sendable>(
        for purpose: TransferPurpose,
        preparing prepare: @escaping @Sendable (BluetoothRadio) async throws -> Prepared,
        events: @escaping @Sendable (ClientEvent) -> Void,
        _ body: @escaping @Sendable (Prepared, TransferChannel) async throws -> Outcome
    ) async throws -> Outcome {
        try await perform(keepsResult: true) {
            try await withCode { session in
                let prepared = try await prepare(session.radio)
                return try await session.receive(for: purpose, events: events) { channel in
                    try await body(prepared, channel)
                }
            }
        }
    }

    private func perform<Answer: Sendable>(
        keepsResult: Bool = false,
        _ exchange: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let body: @Sendable () async throws -> Answer = {
            do {
                return try await exchange()
            } catch let failure as any WebAuthnFailure {
                throw CommandFailure(webAuthn: failure)
            } catch let failure as CommandFailure {
                throw failure
            } catch let failure as any ExplainedFailure {
                throw CommandFailure(failure)
            }
        }
        var ending = await withTerminationSignals {
            try await report.updatingElapsedTime {
                guard let page else { return try await body() }
                return try await page.whileOpen(body)
            }
        }
        if keepsResult { ending = ending.keepingValue }
        display.cleanUp()
        await page?.end(ending)
        do {
            if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
            return try ending.result.get()
        } catch {
            await closing.finish()
            throw error
        }
    }

    /// Performs the ceremony with linked phones, a code, or both at the same time.
    private func result<Unfit: Error>(
        _ request: CTAPRequest,
        for adapted: @escaping @Sendable (AuthenticatorInfo) throws(Unfit) -> CTAPRequest
    ) async throws -> ClientResult {
        guard let phones else {
            return try await withCode { try await $0.perform(request, for: adapted, events: display.show) }
        }
        return try await phones.perform(show: display.show, failed: display.show) { link, claims, events in
            try await withSession(phones.tlsSessions(of: link), warns: !phones.showsCodeFirst) {
                try await $0.contact(link, claims, request, for: adapted, events: events)
            }
        } code: { events in
            // BlueZ permits one scan for each connection to the bus.
            try await withCode(warns: phones.showsCodeFirst) {
                try await $0.perform(request, for: adapted, events: events)
            }
        }
    }

    /// Runs `body` with a session that shows a code, for which the browser opens if there is a page.
    private func withCode<Answer: Sendable>(
        warns: Bool = true,
        _ body: @escaping @Sendable (ClientSession) async throws -> Answer
    ) async throws -> Answer {
        guard let page else { return try await withSession(warns: warns, body) }
        return try await page.openingBrowser { try await withSession(warns: warns, body) }
    }

    private func withSession<Answer: Sendable>(
        _ tlsSessions: TLSSessions? = nil,
        warns: Bool = true,
        _ body: @Sendable (ClientSession) async throws -> Answer
    ) async throws -> Answer {
        var network = network
        network.sessions = tlsSessions
        return try await withRadio(warns: warns) { [network] radio in
            try await body(
                ClientSession(
                    radio: radio,
                    network: network,
                    timeouts: timeouts,
                    offersBLEChannel: offersBLEChannel,
                    linking: linking,
                    closing: closing
                )
            )
        }
    }

    private func withRadio<Answer: Sendable>(
        warns: Bool,
        _ body: @Sendable (BluetoothRadio) async throws -> Answer
    ) async throws -> Answer {
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: adapter, for: .scanner)
        } catch {
            throw CommandFailure(error)
        }
        if warns, radio.isVirtual { warnOfVirtualRadio(radio.unverifiedBus) }
        return try await withCleanup {
            await radio.close()
        } of: {
            try await body(radio)
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
}

extension CommandFailure {
    /// Creates a failure whose sentence ends with the name of the exception that a browser would throw.
    package init(webAuthn failure: some WebAuthnFailure) {
        self.init(
            "\(failure.sentence) (\(failure.name.rawValue))",
            code: failure.code,
            status: failure.status,
            details: ["webauthn_error": failure.name.rawValue]
        )
    }
}
