// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridBLEAdvert
internal import HybridCTAP
internal import HybridCeremonySupport
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession
internal import HybridWebAuthn

/// `hybrid-client show-qr`: one ceremony, from a website's request to the answer for its server.
struct ShowQR: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show-qr",
        abstract: "Show a code, let a phone answer it, print the answer.",
        discussion: """
            The request is {"publicKey": …} with the options a website gives to navigator.credentials.create() or \
            get(), as JSON. Standard output carries the answer as JSON and nothing else; the code and what happens \
            stand on standard error.
            """
    )

    @Option(help: ArgumentHelp("The website's request; a dash reads standard input.", valueName: "file|-"))
    var request: String

    @Option(help: ArgumentHelp("The website, such as https://example.com.", valueName: "origin"))
    var origin: String

    @Option(
        help: ArgumentHelp(
            "The page in the window, if the website is a frame in a page of another origin.",
            valueName: "origin"
        )
    )
    var topOrigin: String?

    @Option(
        help: ArgumentHelp("Write the code as a picture instead of drawing it here.", valueName: "file.png|file.svg")
    )
    var qrOutput: String?

    @Flag(help: "Show the code, and what happens, on a page in the browser ($BROWSER, or xdg-open).")
    var open = false

    @Flag(help: "Print the text of the code on a line of its own instead of drawing it.")
    var printUrl = false

    @Option(help: ArgumentHelp("\(ClientSettings.cacert.help)", valueName: "file"))
    var cacert: String?

    @OptionGroup
    var road: NetworkOptions

    @Flag(inversion: .prefixedNo, help: ArgumentHelp(stringLiteral: ClientSettings.bleChannel.help))
    var bleChannel: Bool?

    @Flag(help: "Tell what happens as JSON, one object a line, on standard error.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "How long to wait for a phone, and then for its user, in seconds; the request's own time-out, or 120.",
            valueName: "s"
        )
    )
    var timeout: Int?

    func validate() throws {
        guard (1...3600).contains(timeout ?? 1) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
        if let qrOutput, PictureFile.Format(path: qrOutput) == nil {
            throw ValidationError("--qr-output takes a file name that ends in .png or .svg.")
        }
    }

    func run() async throws {
        let report = ProgressReport(program: HybridClient.programName, manner: .fitting(json: json))
        do {
            try await answer(report)
        } catch let failure as CommandFailure {
            report.end(failure)
            throw ExitCode(failure.status.rawValue)
        }
    }

    private func answer(_ report: ProgressReport) async throws {
        var flags = GivenFlags()
        flags.set(ClientSettings.cacert, cacert)
        flags.set(ClientSettings.bleChannel, bleChannel)
        let settings = try ClientSettings.resolve(flags)
        try settings.checkCertificates(ClientSettings.cacert)
        let ceremony = try RequestInput(path: request, origin: origin, topOrigin: topOrigin).ceremony()
        let page = open ? try await CodePage.start(for: ceremony, report) : nil
        let display = try CodeDisplay(report, printsText: printUrl, file: qrOutput, page: page)
        let ending = await withTerminationSignals {
            try await report.whileTicking {
                try await CodePage.watched(page) { try await perform(ceremony, display, settings) }
            }
        }
        display.cleanUp()
        await page?.end(ending)
        if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
        let answer = try ending.result.get()
        report.end(ProgressState("done", "done"))
        guard StandardOutput.writeLine(answer) else {
            throw CommandFailure("the answer could not be written to standard output", status: .ioError)
        }
    }

    private func perform(
        _ ceremony: Ceremony,
        _ display: CodeDisplay,
        _ settings: Configuration
    ) async throws -> [UInt8] {
        let offersBLEChannel = try settings.value(ClientSettings.bleChannel)
        let radio: BluetoothRadio
        do {
            radio = try await BluetoothRadio.open(adapter: road.adapter, for: .scanner)
        } catch {
            throw CommandFailure(error)
        }
        if radio.isVirtual { display.warn(ProgressState("virtual-radio", "VIRTUAL RADIO: no proximity proof")) }
        if radio.isVirtual, offersBLEChannel {
            display.warn(
                ProgressState(
                    "no-bluetooth-channel",
                    "a virtual radio has no Bluetooth channel; only the relay is offered"
                )
            )
        }
        do {
            let answer = try await perform(ceremony, display, radio, settings)
            await radio.close()
            return answer
        } catch {
            await radio.close()
            throw error
        }
    }

    private func perform(
        _ ceremony: Ceremony,
        _ display: CodeDisplay,
        _ radio: BluetoothRadio,
        _ settings: Configuration
    ) async throws -> [UInt8] {
        var timeouts = ClientTimeouts()
        let limit = timeout.map { .seconds($0) } ?? ceremony.timeout ?? timeouts.untilHeard
        timeouts.untilHeard = limit
        timeouts.untilAnswered = limit
        let session = ClientSession(
            radio: radio,
            route: RelayRoute(
                detours: road.connectTo,
                trustedCertificates: try settings.value(ClientSettings.cacert),
                proxies: ProxySettings(environment: ProcessEnvironment.variables)
            ),
            timeouts: timeouts,
            offersBLEChannel: try settings.value(ClientSettings.bleChannel)
        )
        let result: ClientResult
        do {
            result = try await session.perform(
                ceremony.ctapRequest,
                for: { phone throws(MissingAbility) in try ceremony.ctapRequest(for: phone) },
                events: display.show
            )
        } catch let missing as MissingAbility {
            throw CommandFailure(PhoneRefusal(missing))
        } catch let failure as ClientFailure {
            throw CommandFailure(failure)
        }
        guard result.response.status == .success else {
            throw CommandFailure(PhoneRefusal(result.response.status, for: ceremony.relyingPartyID))
        }
        do {
            return try ceremony.responseJSON(body: result.response.body, phone: result.info)
        } catch {
            throw CommandFailure(PhoneRefusal(error))
        }
    }
}
