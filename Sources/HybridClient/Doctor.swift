// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCeremonySupport
internal import HybridCommandSupport
internal import HybridDataChannel
public import HybridPrimitives
internal import HybridSession
internal import HybridThreads

/// `hybrid-client doctor`: tells whether a ceremony could work here, and if not, why.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "PictureView for what would keep a phone from signing in here.",
        discussion: """
            Looks at Bluetooth, the network and the relays in the order in which a ceremony needs them, one line for \
            each on standard output, with a remedy below. Sends nothing but a test advert, if there are two adapters, \
            and a request for a tunnel that does not exist to each relay. Ends with 0 if a ceremony could work; else \
            with the exit code that show-qr would have ended with.
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

    @Flag(help: "One JSON object on standard output, and each check as a line of JSON on standard error.")
    var json = false

    @Option(help: ArgumentHelp("\(ClientSettings.cacert.help)", valueName: "file"))
    var cacert: String?

    @OptionGroup
    var road: NetworkOptions

    @Option(help: ArgumentHelp("How long all checks together may take, in seconds.", valueName: "s"))
    var timeout: Int = 10

    func validate() throws {
        guard (1...300).contains(timeout) else { throw ValidationError("--timeout takes 1 to 300 seconds.") }
    }

    func run() async throws {
        var flags = GivenFlags()
        flags.set(ClientSettings.cacert, cacert)
        var doctor = self
        doctor.cacert = try ClientSettings.resolve(flags).value(ClientSettings.cacert)
        let ending = await withTerminationSignals { [doctor] in try await doctor.examine() }
        if ending.signal != nil {
            guard json else { throw CommandFailure("interrupted", status: .interrupted) }
            StandardError.writeLine(String(decoding: try DoctorReport.interruption(), as: UTF8.self))
            throw ExitCode(ExitStatus.interrupted.rawValue)
        }
        let (report, isWritten) = try ending.result.get()
        let last = json ? try report.json() : Array(Self.verdict(report).utf8)
        guard StandardOutput.writeLine(last), isWritten else {
            guard json else { throw CommandFailure(Self.unwritten, status: .ioError) }
            StandardError.writeLine(String(decoding: try DoctorReport.error(Self.unwritten, .ioError), as: UTF8.self))
            throw ExitCode(ExitStatus.ioError.rawValue)
        }
        guard let obstacle = report.obstacle else { return }
        guard json else { throw CommandFailure(obstacle.sentence, status: obstacle.status) }
        StandardError.writeLine(String(decoding: try DoctorReport.error(obstacle), as: UTF8.self))
        throw ExitCode(obstacle.status.rawValue)
    }

    private static let unwritten = "standard output can't be written"

    private static func verdict(_ report: DoctorReport) -> String {
        report.obstacle.map { "a ceremony can't work: \($0.found)" } ?? "a ceremony could work"
    }

    /// Makes all checks and tells each as it is known.
    private func examine() async throws -> (DoctorReport, isWritten: Bool) {
        let notes = Notes(json: json)
        let budget = DoctorTime(seconds: timeout)
        let network = DoctorNetwork(
            relay: relay,
            route: RelayRoute(
                detours: road.connectTo,
                trustedCertificates: cacert,
                proxies: ProxySettings(environment: ProcessEnvironment.variables)
            ),
            budget: budget
        )
        // Both at the same time, told in the order of a ceremony.
        async let ofNetwork = network.examine()
        let isVirtual = try await DoctorRadio(adapter: road.adapter, budget: budget, report: notes.take).examineInTime()
        for finding in try await ofNetwork { notes.take(finding) }
        try Task.checkCancellation()
        let (findings, isWritten) = notes.all
        return (DoctorReport(findings: findings, isVirtual: isVirtual), isWritten)
    }

    /// What was found so far; shown at once.
    private final class Notes: Sendable {
        private let json: Bool
        private let state = Locked((findings: [DoctorFinding](), isWritten: true))

        init(json: Bool) { self.json = json }

        var all: ([DoctorFinding], Bool) { state.withLock { ($0.findings, $0.isWritten) } }

        @Sendable func take(_ finding: DoctorFinding) {
            // What a check says that was broken off is no finding.
            guard !Task.isCancelled else { return }
            state.withLock { state in
                state.findings.append(finding)
                if json {
                    guard let line = try? DoctorReport.event(finding) else { return }
                    StandardError.writeLine(String(decoding: line, as: UTF8.self))
                } else {
                    for line in finding.lines where !StandardOutput.writeLine(Array(line.utf8)) {
                        state.isWritten = false
                    }
                }
            }
        }
    }
}
