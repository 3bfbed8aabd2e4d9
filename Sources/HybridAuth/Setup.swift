// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDataChannel
internal import HybridPrimitives
internal import HybridRelayCheck

/// `hybrid-auth setup`: chooses the relay, looks whether it works, and remembers it.
struct Setup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Choose a relay, check it, and remember it.",
        discussion: """
            Asks on the terminal; in a script, --tunnel-domain says it, and nothing is asked. What is given here goes to \
            auth.env in $XDG_CONFIG_HOME/hybrid, where scan looks; what else stands there stays. Running it again with \
            the same answers changes nothing.
            """
    )

    @Option(help: ArgumentHelp("The relay to use, by number or host name.", valueName: "id|host"))
    var tunnelDomain: String?

    @Option(help: ArgumentHelp("A file with the relay's token, remembered too.", valueName: "file"))
    var tunnelTokenFile: String?

    @Option(
        help: ArgumentHelp("Trust these certificates (PEM) instead of the system's; remembered too.", valueName: "file")
    )
    var cacert: String?

    @Option(
        help: ArgumentHelp("For the check: connect elsewhere, as curl does.", valueName: "host:port:host2:port2"),
        transform: { text in
            guard let detour = RelayDetour(text) else {
                throw ValidationError("--connect-to takes HOST:PORT:HOST2:PORT2.")
            }
            return detour
        }
    )
    var connectTo: RelayDetour?

    @Flag(name: .customLong("no-check"), help: "Write without looking at the relay.")
    var noCheck = false

    func run() async throws {
        let dialogue = SetupDialogue()
        let file = try SetupFile(path: AuthSettings.usualFile(ProcessEnvironment.variables))
        let domain = try chosenDomain(dialogue)
        var changes: [(name: String, value: String?)] = [("HYBRID_TUNNEL_DOMAIN", String(domain.id))]
        if let tunnelTokenFile {
            changes.append(("HYBRID_TUNNEL_TOKEN_FILE", try Self.absolute(tunnelTokenFile)))
        } else if try file.value(of: "HYBRID_TUNNEL_TOKEN_FILE") != nil, try !file.names(domain) {
            // What one relay gave out is no other relay's to read.
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
        guard !file.holds(bytes) else { return Self.say("\(file.path) says so already; nothing to do") }
        Self.say("to be written to \(file.path):")
        for (name, value) in changes {
            Self.say(value.map { "  \(name)=\($0)" } ?? "  no \(name), as that token is the other relay's")
        }
        if dialogue.isPossible, !dialogue.agree("Write it?", otherwise: true) {
            throw CommandFailure("nothing was written", status: .notPermitted)
        }
        try file.write(bytes)
        Self.say("done; hybrid-auth scan uses the relay \(domain.host)")
    }

    /// What no scan could use is not written down, also where nobody looks at the relay.
    private func checkFiles() throws(CommandFailure) {
        if let tunnelTokenFile, noCheck { _ = try AuthSettings.token(tunnelTokenFile) }
        guard let cacert else { return }
        do throws(TunnelError) {
            try TrustAnchors.check(cacert)
        } catch {
            throw CommandFailure("\(cacert) holds no PEM certificate that can be read", status: .noInput)
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
        Self.say("a relay passes messages on between this device and the one you sign in on, and can't read them;")
        Self.say("ask who runs yours for its number or host name, or see hybrid-relay domain")
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

    /// Returns if phones can use the relay.
    private func check(_ domain: TunnelDomain) async throws {
        // With what scan will use, given here or not.
        var flags = GivenFlags()
        flags.set(AuthSettings.tunnelDomain, String(domain.id))
        flags.set(AuthSettings.tunnelTokenFile, tunnelTokenFile)
        flags.set(AuthSettings.cacert, cacert)
        let settings = try AuthSettings.resolve(flags)
        var options = CheckOptions()
        options.trustedCertificates = try settings.value(AuthSettings.cacert)
        options.detour = connectTo
        options.environment = ProcessEnvironment.variables
        options.token = try AuthSettings.tokenFile(for: domain, settings).map(Self.token)
        Self.say("checking the relay \(domain.host); this takes some seconds")
        let report: CheckReport
        do {
            report = try await RelayChecker(relay: RelayAddress("wss://\(domain.host)"), options: options).run()
        } catch CheckFailure.unreachable(let why) {
            throw CommandFailure(
                "cannot reach \(domain.host): \(why); nothing was written (--no-check writes all the same)",
                status: .unavailable
            )
        } catch CheckFailure.proxyUnusable(let variable) {
            throw CommandFailure(
                "\(variable) names no proxy that can be used; it should be http://[USER[:PASSWORD]@]HOST[:PORT]",
                status: .configuration
            )
        } catch CheckFailure.certificatesUnusable(let file) {
            throw CommandFailure("\(file) holds no PEM certificate that can be read", status: .noInput)
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
        case .incomplete where report.wantsToken:
            throw CommandFailure(
                "the relay wants a token, or another one; name its file with --tunnel-token-file; nothing was written",
                status: .unavailable
            )
        case .incomplete:
            throw CommandFailure(
                "the relay could not be checked in full; nothing was written; try later, or use --no-check",
                status: .temporary
            )
        }
    }

    private static func token(_ path: String) throws -> TunnelToken {
        try TokenFile.read(path, longest: TunnelToken.maximumLength) { TunnelToken($0) }
    }

    /// A path that still leads there when the program is started elsewhere.
    private static func absolute(_ path: String) throws(CommandFailure) -> String {
        guard let resolved = PathResolution.resolved(path) else {
            let error: FileReadError = errno == ENOENT ? .missing : .failed(errorNumber: errno)
            throw CommandFailure("\(path): \(error.sentence)", status: .noInput)
        }
        return resolved
    }

    private static func say(_ text: String) { StandardError.writeLine("\(HybridAuth.programName): \(text)") }
}
