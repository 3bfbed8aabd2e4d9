// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridRelayCheck

/// `hybrid-relay check`: tells whether phones and clients can use a relay.
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "PictureView at any relay from outside.",
        discussion: """
            One line for each check on standard output, or one JSON object. Makes about forty connections, 60 at \
            most, and sends a few megabytes. Ends with 0 if all required checks are as expected, with 1 if one \
            differs, with 75 if one could not be made (the relay limits how often one may come: try later), with 69 \
            if the relay cannot be reached, or wants a token or another one.
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
        help: ArgumentHelp("Connect elsewhere, as curl does.", valueName: "host:port:host2:port2"),
        transform: { text in
            guard let detour = RelayDetour(text) else {
                throw ValidationError("--connect-to takes HOST:PORT:HOST2:PORT2.")
            }
            return detour
        }
    )
    var connectTo: RelayDetour?

    @Option(help: ArgumentHelp("A file with the relay's token.", valueName: "file"))
    var tunnelTokenFile: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @Option(help: ArgumentHelp("How long each check may take, in seconds.", valueName: "s"))
    var timeout: Int = 10

    @Flag(help: "Wait for the relay to give up half a request, as long as --timeout says.")
    var slow = false

    @Flag(help: "The relay serves linked phones: 410 is its right answer about one it does not know.")
    var contact = false

    private static func address(_ text: String) throws -> RelayAddress {
        do {
            return try RelayAddress(text)
        } catch {
            switch error {
            case .malformed: throw ValidationError("A relay is named wss://HOST[:PORT].")
            case .plaintextElsewhere: throw ValidationError("ws:// is for relays on this machine; use wss://.")
            }
        }
    }

    func validate() throws {
        guard (1...300).contains(timeout) else { throw ValidationError("--timeout takes 1 to 300 seconds.") }
    }

    func run() async throws {
        var options = CheckOptions()
        options.timeout = .seconds(timeout)
        options.isSlow = slow
        options.offersContact = contact
        options.trustedCertificates = cacert
        options.detour = connectTo
        options.environment = ProcessEnvironment.variables
        options.token = try tunnelTokenFile.map(Self.token)
        let report: CheckReport
        var isWritten = true
        do {
            report = try await RelayChecker(relay: relay, options: options).run { result in
                if !json, !write(result.line) { isWritten = false }
            }
        } catch {
            switch error {
            case .unreachable(let why):
                throw CommandFailure("cannot reach \(relay): \(why)", status: .unavailable)
            case .proxyUnusable(let variable):
                throw CommandFailure(
                    "\(variable) names no proxy that can be used; it should be http://[USER[:PASSWORD]@]HOST[:PORT]",
                    status: .configuration
                )
            case .certificatesUnusable(let file):
                throw CommandFailure("\(file) holds no PEM certificate that can be read", status: .noInput)
            }
        }
        if json {
            isWritten = StandardOutput.writeLine(try report.json())
        } else {
            isWritten = isWritten && write("\(report.relay) at \(report.address): \(report.verdict.rawValue)")
            isWritten = isWritten && write(report.summary)
        }
        guard isWritten else { throw CommandFailure("standard output cannot be written", status: .ioError) }
        switch report.verdict {
        case .conforms: return
        case .differs: throw ExitCode(1)
        case .incomplete where report.wantsToken:
            throw CommandFailure(
                "the relay wants a token, or another one; name its file with --tunnel-token-file",
                status: .unavailable
            )
        case .incomplete:
            throw CommandFailure(
                "some required checks could not be made; what stood in the way may have gone later",
                status: .temporary
            )
        }
    }

    private static func token(_ path: String) throws -> TunnelToken {
        try TokenFile.read(path, longest: TunnelToken.maximumLength) { TunnelToken($0) }
    }

    /// One line; what the relay sent must not command the terminal.
    private func write(_ line: String) -> Bool {
        StandardOutput.writeLine(Array(StandardError.oneLine(line).utf8))
    }
}
