// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCheck

/// `hybrid-relay check`: checks that phones and clients can use a relay.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check any relay from outside.",
        discussion: """
            Prints one line for each check on standard output, or one JSON object. Makes about forty connections, or \
            sixty if the relay serves linked phones, at most 90, and sends a few megabytes. The exit status is 0 if all \
            required checks pass, 1 if one fails, 75 if one could not be made (the relay limits the rate: try again \
            later), and 69 if the relay cannot be reached or requires a token or another one.

            With --every, the command checks nothing else but signs in as a phone and a client do, without radio, \
            until a signal ends it, and serves the times as metrics for Prometheus on --metrics.
            """
    )

    @Argument(
        help: ArgumentHelp("The relay: wss://HOST[:PORT], or ws:// on this machine.", valueName: "url"),
        transform: Self.address
    )
    var relay: RelayAddress

    @Option(help: ArgumentHelp("Trust these certificates (PEM) instead of the system's.", valueName: "file"))
    var cacert: String?

    @Option(
        help: ArgumentHelp("Connect elsewhere (like curl --connect-to).", valueName: "host:port:host2:port2"),
        transform: ConnectTo.argument
    )
    var connectTo: ConnectTo?

    @Option(
        help: ArgumentHelp(
            "The same for the client's end, such as a different region's balancer; with --every.",
            valueName: "host:port:host2:port2"
        ),
        transform: ConnectTo.argument
    )
    var clientConnectTo: ConnectTo?

    @Option(help: ArgumentHelp("A file with the relay's token.", valueName: "file"))
    var tunnelTokenFile: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @Option(help: ArgumentHelp("Time limit of each check, in seconds.", valueName: "s"))
    var timeout: Int = 10

    @Flag(help: "Check that the relay times out an incomplete request, within --timeout.")
    var slow = false

    @Flag(help: "The relay serves linked phones: 410 is the right answer for an unknown one.")
    var contact = false

    @Option(help: ArgumentHelp("The relay's --contact-host, if it is not the host of the URL.", valueName: "host"))
    var contactHost: String?

    @Option(
        help: ArgumentHelp("Sign in every so many seconds, 5 to 300, until a signal; needs --metrics.", valueName: "s")
    )
    var every: Seconds?

    @Option(
        help: ArgumentHelp("Address for /metrics: HOST:PORT, or PORT on loopback.", valueName: "host:port")
    )
    var metrics: String?

    @Option(
        help: ArgumentHelp("Expiry of the domain's registration, for an alert; with --every.", valueName: "yyyy-mm-dd"),
        transform: Self.expiry
    )
    var domainExpires: ExpiryDate?

    /// A number of seconds, which may be followed by `s`.
    struct Seconds: ExpressibleByArgument {
        let count: Int

        init?(argument: String) {
            let digits = argument.hasSuffix("s") ? argument.dropLast() : argument[...]
            guard let count = Int(digits), (5...300).contains(count) else { return nil }
            self.count = count
        }
    }

    private static func expiry(_ text: String) throws -> ExpiryDate {
        guard let date = ExpiryDate(text) else { throw ValidationError("--domain-expires takes a date, YYYY-MM-DD.") }
        return date
    }

    private static func address(_ text: String) throws -> RelayAddress {
        do {
            return try RelayAddress(text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    func validate() throws {
        guard (1...300).contains(timeout) else { throw ValidationError("--timeout takes 1 to 300 seconds.") }
        guard (every == nil) == (metrics == nil) else {
            throw ValidationError("--every and --metrics need each other.")
        }
        guard every != nil || domainExpires == nil else { throw ValidationError("--domain-expires needs --every.") }
        guard every != nil || clientConnectTo == nil else {
            throw ValidationError("--client-connect-to needs --every.")
        }
    }

    func run() async throws {
        var options = CheckOptions()
        options.timeout = .seconds(timeout)
        options.isSlow = slow
        options.offersContact = contact
        options.contactHost = contactHost
        options.trustedCertificates = cacert
        options.connectTo = connectTo
        options.clientConnectTo = clientConnectTo
        options.environment = ProcessEnvironment.variables
        options.token = try tunnelTokenFile.map { path in
            try TokenFile.read(path, longest: BearerToken.maximumLength) { BearerToken($0) }
        }
        if let every, let metrics {
            let interval = Duration.seconds(every.count)
            return try await ProbeService(relay, options, every: interval, metrics: metrics, domainExpires).run()
        }
        let report: CheckReport
        var outputFailure: CommandFailure?
        func write(_ line: String) {
            guard outputFailure == nil else { return }
            do throws(CommandFailure) {
                // Text from the relay must not control the terminal.
                try StandardOutput.writeLine(StandardError.oneLine(line))
            } catch {
                outputFailure = error
            }
        }
        do {
            report = try await RelayChecker(relay: relay, options: options).run { result in
                if !json { write(result.line) }
            }
        } catch {
            throw CommandFailure(error)
        }
        if json {
            try StandardOutput.writeLine(report.json)
        } else {
            write("\(report.relay) at \(report.address): \(report.verdict.rawValue)")
            write(report.summary)
        }
        if let outputFailure { throw outputFailure }
        switch report.verdict {
        case .conforms: return
        case .differs: throw ExitCode(1)
        case .incomplete where report.requiresToken:
            throw CommandFailure(NetworkError.notAuthorized)
        case .incomplete:
            throw CommandFailure("some required checks could not be made; try again later", status: .temporary)
        }
    }
}
