// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridRelayCheck

/// `hybrid-auth setup`: chooses the relay, checks it, and saves it.
struct Setup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Choose a relay, check it, and save it.",
        discussion: """
            Asks on the terminal; with --tunnel-domain, as in scripts, asks nothing. Saves the settings to auth.env in \
            $XDG_CONFIG_HOME/hybrid, which scan reads, and keeps the other settings there. Running it again with the \
            same answers changes nothing.
            """
    )

    @Option(help: ArgumentHelp("The relay to use, by number or host name.", valueName: "id|host"))
    var tunnelDomain: String?

    @Option(help: ArgumentHelp("A file with the relay's token; saved, too.", valueName: "file"))
    var tunnelTokenFile: String?

    @Option(
        help: ArgumentHelp("Trust these certificates (PEM) instead of the system's; saved, too.", valueName: "file")
    )
    var cacert: String?

    @Option(
        help: ArgumentHelp("For the check: connect elsewhere, as curl does.", valueName: "host:port:host2:port2"),
        transform: ConnectTo.argument
    )
    var connectTo: ConnectTo?

    @Flag(name: .customLong("no-check"), help: "Save without checking the relay.")
    var noCheck = false

    func run() async throws {
        let dialogue = SetupDialogue()
        let file = try SetupFile(path: AuthSettings.usualFile(ProcessEnvironment.variables))
        let domain = try chosenDomain(dialogue)
        var changes: [(name: String, value: String?)] = [("HYBRID_TUNNEL_DOMAIN", String(domain.id))]
        if let tunnelTokenFile {
            changes.append(("HYBRID_TUNNEL_TOKEN_FILE", try Self.absolute(tunnelTokenFile)))
        } else if try file.value(of: "HYBRID_TUNNEL_TOKEN_FILE") != nil, try !file.names(domain) {
            // A token is secret from every relay but the one that issued it.
            changes.append(("HYBRID_TUNNEL_TOKEN_FILE", nil))
        }
        if let cacert { changes.append(("HYBRID_CACERT", try Self.absolute(cacert))) }
        try checkFiles()
        let bytes = try file.changed(changes)
        if !noCheck {
            let setup = self
            let ending = await withTerminationSignals { try await setup.check(domain) }
            if ending.signal != nil { throw CommandFailure("interrupted; nothing was written", status: .interrupted) }
            try ending.result.get()
        }
        guard !file.holds(bytes) else { return Self.say("\(file.path) is up to date; nothing to do") }
        Self.say("to be written to \(file.path):")
        for (name, value) in changes {
            Self.say(value.map { "  \(name)=\($0)" } ?? "  no \(name), because that token belongs to another relay")
        }
        if dialogue.isPossible, !dialogue.agree("Write it?", otherwise: true) {
            throw CommandFailure("nothing was written", status: .notPermitted)
        }
        try file.write(bytes)
        Self.say("done; hybrid-auth scan uses the relay \(domain.host)")
    }

    /// Checks the given files, also with --no-check: files that no scan could use are not saved.
    private func checkFiles() throws(CommandFailure) {
        if let tunnelTokenFile, noCheck { _ = try AuthSettings.token(tunnelTokenFile) }
        guard let cacert else { return }
        do throws(TunnelError) {
            try TrustAnchors.check(cacert)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func chosenDomain(_ dialogue: SetupDialogue) throws -> TunnelDomain {
        if let tunnelDomain {
            guard let domain = TunnelDomain(argument: tunnelDomain) else { throw Self.noDomain(tunnelDomain) }
            return domain
        }
        guard dialogue.isPossible else {
            throw CommandFailure("there is no terminal to ask on; name the relay with --tunnel-domain", status: .usage)
        }
        Self.say("a relay forwards messages between this device and the one you sign in on, and can't read them;")
        Self.say("ask its operator for its number or host name, or see hybrid-relay domain")
        for _ in 0..<5 {
            guard let answer = dialogue.ask("Relay (number or host name): ") else { break }
            if answer.isEmpty { continue }
            if let domain = TunnelDomain(argument: answer) { return domain }
            Self.say(Self.noDomain(answer).sentence)
        }
        throw CommandFailure("no relay was chosen; nothing was written", status: .usage)
    }

    private static func noDomain(_ text: String) -> CommandFailure {
        CommandFailure(
            "\(text) is no tunnel domain; hybrid-relay domain shows which number has which host name",
            status: .usage
        )
    }

    /// Returns if authenticators can use the relay; throws otherwise.
    private func check(_ domain: TunnelDomain) async throws {
        // The settings that scan will use, given here or not.
        var flags = GivenFlags()
        flags.set(AuthSettings.tunnelDomain, String(domain.id))
        flags.set(AuthSettings.tunnelTokenFile, tunnelTokenFile)
        flags.set(AuthSettings.cacert, cacert)
        let settings = try AuthSettings.resolve(flags)
        var options = CheckOptions()
        options.trustedCertificates = try settings.value(AuthSettings.cacert)
        options.connectTo = connectTo
        options.environment = ProcessEnvironment.variables
        options.token = try AuthSettings.tokenFile(for: domain, settings).map(AuthSettings.token)
        Self.say("checking the relay \(domain.host); this takes some seconds")
        let report: CheckReport
        do {
            report = try await RelayChecker(relay: RelayAddress("wss://\(domain.host)"), options: options).run()
        } catch let error as TunnelError where error.status == .unavailable {
            throw CommandFailure(
                "\(error.sentence); nothing was written (--no-check writes without a check)",
                status: .unavailable
            )
        } catch let error as TunnelError {
            throw CommandFailure(error)
        }
        switch report.verdict {
        case .conforms: Self.say("the relay works (\(report.summary))")
        case .differs:
            let names = report.results.filter { $0.id.level == .required }.compactMap { result in
                if case .differs = result.outcome { result.id.rawValue } else { nil }
            }
            throw CommandFailure(
                "the relay does not do what phones need (\(names.joined(separator: ", "))); nothing was written; see "
                    + "hybrid-relay check wss://\(domain.host), or use --no-check",
                status: .unavailable
            )
        case .incomplete where report.requiresToken:
            throw CommandFailure("\(TunnelError.notAuthorized.sentence); nothing was written", status: .unavailable)
        case .incomplete:
            throw CommandFailure(
                "the relay could not be checked in full; nothing was written; try later, or use --no-check",
                status: .temporary
            )
        }
    }

    /// Returns the absolute path of an existing file.
    private static func absolute(_ path: String) throws(CommandFailure) -> String {
        guard let resolved = PathResolution.resolved(path) else {
            let error: FileReadError = errno == ENOENT ? .missing : .failed(errorNumber: errno)
            throw CommandFailure("\(path): \(error.sentence)", status: .noInput)
        }
        return resolved
    }

    private static func say(_ text: String) { StandardError.writeLine("\(HybridAuth.programName): \(text)") }
}
