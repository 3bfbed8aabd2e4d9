// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridSession
internal import HybridThreads

/// The command `hybrid-client doctor`, which checks the requirements of a ceremony on this computer.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what would keep a phone from signing in here.",
        discussion: """
            Checks Bluetooth, the network and the relays in the order in which a ceremony needs them, and then the \
            security key of hybrid-key and the linked phones. Prints one line for each check on standard output, with a remedy below. Sends nothing but a test advert, if there are two \
            adapters, and to each relay a request for a tunnel that does not exist. Exits with 0 if a ceremony could \
            work; else with the exit code of show-qr for the first obstacle.
            """
    )

    @Option(
        help: ArgumentHelp("A relay that must work, by number or host name.", valueName: "id|host"),
        transform: { text in
            guard let domain = TunnelDomain(argument: text) else {
                throw ValidationError("--relay takes a tunnel domain: a number, or its host name.")
            }
            return domain
        }
    )
    var relay: TunnelDomain?

    @Flag(help: "Print one JSON object on standard output, and each check as a line of JSON on standard error.")
    var json = false

    @Option(help: ArgumentHelp("\(CeremonySettings.cacert.help)", valueName: "file"))
    var cacert: String?

    @OptionGroup
    var network: NetworkOptions<AdapterName>

    @Option(help: ArgumentHelp("Time limit for all checks together, in seconds.", valueName: "s"))
    var timeout: Int = 10

    func validate() throws {
        guard (1...300).contains(timeout) else { throw ValidationError("--timeout takes 1 to 300 seconds.") }
    }

    func run() async throws {
        var flags = GivenFlags()
        flags.set(CeremonySettings.cacert, cacert)
        let certificates = try ClientSettings.resolve(flags).value(CeremonySettings.cacert)
        do {
            try await report(trustedCertificates: certificates)
        } catch let failure as CommandFailure where json {
            StandardError.writeLine(DoctorReport.event(failure))
            throw ExitCode(failure.status.rawValue)
        }
    }

    /// Performs all checks and prints the report.
    ///
    /// - Throws: ``CommandFailure`` if a signal is received, the output cannot be written, or a ceremony cannot work.
    private func report(trustedCertificates: String?) async throws {
        let recorder = FindingRecorder(json: json)
        let budget = TimeBudget(seconds: timeout)
        let relays = RelayChecks(
            required: relay,
            network: NetworkConfiguration(
                connectTo: network.connectTo,
                trustedCertificates: trustedCertificates,
                proxies: ProxySettings(environment: ProcessEnvironment.variables)
            ),
            budget: budget
        )
        let bluetooth = BluetoothChecks(adapter: network.adapter, budget: budget, record: recorder.record)
        let ending = await withTerminationSignals {
            // Both run at the same time, but are reported in the order of a ceremony.
            async let relayFindings = relays.run()
            let isVirtual = try await bluetooth.run()
            for finding in try await relayFindings { recorder.record(finding) }
            for finding in SecurityKeyChecks.run() + LinkChecks.run() { recorder.record(finding) }
            try Task.checkCancellation()
            return isVirtual
        }
        if ending.signal != nil { throw CommandFailure("interrupted", status: .interrupted) }
        let report = DoctorReport(findings: try recorder.findings(), isVirtual: try ending.result.get())
        try StandardOutput.writeLine(json ? report.json : report.verdict)
        if let obstacle = report.obstacle { throw CommandFailure(obstacle.sentence, status: obstacle.status) }
    }
}

/// A recorder that prints each finding immediately and stores it for the report.
private final class FindingRecorder: Sendable {
    private let json: Bool
    private let state = Locked((findings: [DoctorFinding](), outputFailure: CommandFailure?.none))

    init(json: Bool) { self.json = json }

    /// Returns all findings.
    ///
    /// - Throws: ``CommandFailure`` if standard output did not accept all of them.
    func findings() throws(CommandFailure) -> [DoctorFinding] {
        let (findings, failure) = state.withLock { $0 }
        if let failure { throw failure }
        return findings
    }

    @Sendable func record(_ finding: DoctorFinding) {
        // The result of an interrupted check is not a finding.
        guard !Task.isCancelled else { return }
        state.withLock { state in
            state.findings.append(finding)
            guard !json else { return StandardError.writeLine(DoctorReport.event(finding)) }
            do throws(CommandFailure) {
                for line in finding.lines { try StandardOutput.writeLine(line) }
            } catch {
                state.outputFailure = error
            }
        }
    }
}

/// The time limit for all checks together, and its shares for single steps.
struct TimeBudget: Sendable {
    /// The total time in seconds.
    let seconds: Int
    /// The time at which the budget is exhausted.
    let end: ContinuousClock.Instant

    /// Creates a budget that starts now.
    init(seconds: Int) {
        self.seconds = seconds
        end = .now + .seconds(seconds)
    }

    /// The time limit for receiving an advert, 40 % of the total; it is needed at most twice.
    var receiving: Duration { .milliseconds(400 * seconds) }
    /// The time limit in seconds for connecting to a relay, and again for its response; 40 % of the total.
    var relay: Int { max(1, seconds * 2 / 5) }

    /// The error for an exhausted budget.
    struct Exceeded: Error {}
}
