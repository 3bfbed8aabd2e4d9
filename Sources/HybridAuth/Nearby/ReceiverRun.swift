// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridLocalPage
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridTransfer

/// A run of a command that shows a code and receives passkeys, or the key of a vault.
struct ReceiverRun: Sendable {
    let report: ProgressReport
    private let purpose: TransferPurpose
    private let run: ClientRun
    private let display: CodeDisplay
    private let window: CodeWindow?

    /// Creates a run: checks the settings, opens the window or starts the page, and creates the image file.
    init(
        _ purpose: TransferPurpose,
        _ options: NearbyOptions,
        _ code: TransferCodeOptions,
        _ settings: Configuration
    ) async throws {
        try settings.checkCertificates(AuthSettings.cacert, with: TrustAnchors.check)
        self.purpose = purpose
        report = options.report(isForProgram: code.show == .window)
        window = code.show == .window ? try CodeWindow(try settings.value(AuthSettings.prompt)) : nil
        report.emit(
            "request",
            [
                ("operation", .string(purpose == .give ? "receive" : "join")),
                ("timeout_ms", .number(code.timeout * 1000)),
            ]
        )
        var timeouts = ClientTimeouts()
        timeouts.untilPhoneFound = .seconds(code.timeout)
        let page = code.show == .page ? try await CodePage.start(PageSubject(purpose), report) : nil
        display = try CodeDisplay(
            report,
            page,
            imagePath: code.show.imagePath,
            purpose: purpose == .give
                ? "give passkeys to this device: hybrid-auth give --camera"
                : "let this device join the vault: hybrid-auth give --camera"
        )
        run = ClientRun(
            adapter: options.network.adapter,
            network: NetworkConfiguration(
                connectTo: options.network.connectTo,
                trustedCertificates: try settings.value(AuthSettings.cacert),
                proxies: ProxySettings(environment: ProcessEnvironment.variables)
            ),
            timeouts: timeouts,
            offersBLEChannel: try settings.value(AuthSettings.bleChannel),
            report: report,
            page: page,
            display: display
        )
    }

    /// Shows the code and performs the transfer.
    ///
    /// - Parameters:
    ///   - prepare: Called with the radio before the code is shown.
    ///   - body: The receiver's side.
    func perform<Prepared: Sendable, Outcome: Sendable>(
        preparing prepare: @escaping @Sendable (BluetoothRadio) async throws -> Prepared,
        _ body: @escaping @Sendable (Prepared, TransferChannel) async throws -> Outcome
    ) async throws -> Outcome {
        try await run.receive(
            for: purpose,
            preparing: { radio in
                window?.beginListening()
                return try await prepare(radio)
            },
            events: show,
            body
        )
    }

    /// Runs `body`, which prints the result, and waits until the tunnel is closed in order.
    func close(after body: @escaping @Sendable () throws(CommandFailure) -> Void) async throws {
        try await run.close(after: body)
    }

    /// Shows the digits on the page, too.
    @Sendable func show(_ digits: TransferDigits) { display.compare("\(digits)") }

    @Sendable private func show(_ event: ClientEvent) {
        switch event {
        case .phoneFound:
            display.show(event, as: ProgressState("giver-found", "the device that gives is nearby"))
        case .waitingForUser: break
        default: display.show(event)
        }
    }
}

extension PageSubject {
    /// Creates the subject of a transfer.
    fileprivate init(_ purpose: TransferPurpose) {
        self.init(site: "", operation: purpose == .give ? .receive : .join)
    }
}
