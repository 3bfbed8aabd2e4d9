// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCheck

/// `hybrid-auth setup`: chooses the relay, checks it, and saves it.
struct SetupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Choose a relay, check it, and save it.",
        discussion: """
            Asks on the terminal; with --tunnel-domain or --link, as in scripts, asks nothing. Saves the settings to \
            auth.env in $XDG_CONFIG_HOME/hybrid, which scan reads, and keeps the other settings there. Running it again \
            with the same answers changes nothing. A relay that the distribution or administrator has chosen in \
            \(AuthSettings.systemFile) needs no setup.
            """
    )

    @Option(help: ArgumentHelp("The relay to use, by number or host name.", valueName: "id|host"))
    var tunnelDomain: String?

    @Option(
        help: ArgumentHelp(
            "The link that the relay's operator has given, which may contain a token; a dash reads it from standard input.",
            valueName: "hybrid-relay:…"
        )
    )
    var link: String?

    @Option(help: ArgumentHelp("A file with the relay's token; saved, too.", valueName: "file"))
    var tunnelTokenFile: String?

    @Option(
        help: ArgumentHelp("Trust these certificates (PEM) instead of the system's; saved, too.", valueName: "file")
    )
    var cacert: String?

    @Option(
        help: ArgumentHelp(
            "Connect the check elsewhere (like curl --connect-to).",
            valueName: "host:port:host2:port2"
        ),
        transform: ConnectTo.argument
    )
    var connectTo: ConnectTo?

    @Flag(name: .customLong("no-check"), help: "Save without checking the relay.")
    var noCheck = false

    @Flag(help: "Ask nothing, and report progress as JSON on standard error, one object per line.")
    var json = false

    func validate() throws {
        guard link == nil || (tunnelDomain == nil && tunnelTokenFile == nil) else {
            throw ValidationError("A link names the relay and its token; omit --tunnel-domain and --tunnel-token-file.")
        }
    }

    func run() async throws {
        let dialogue = SetupDialogue(isWanted: !json)
        let progress = SetupProgress(isForPrograms: json)
        let file = try SetupFile(path: AuthSettings.defaultFile(ProcessEnvironment.variables))
        let link = try link.map { text throws(CommandFailure) in try RelayLink.read(text) }
        let domain = try link?.domain ?? chosenDomain(dialogue)
        var changes: [(name: String, value: String?)] = [("HYBRID_TUNNEL_DOMAIN", String(domain.id))]
        let tokenFile = SetupFile.tokenPath(for: domain, nextTo: file.path)
        if link?.token != nil {
            changes.append(("HYBRID_TUNNEL_TOKEN_FILE", tokenFile))
        } else if let tunnelTokenFile {
            changes.append(("HYBRID_TUNNEL_TOKEN_FILE", try Self.absolute(tunnelTokenFile)))
        } else if try file.value(of: "HYBRID_TUNNEL_TOKEN_FILE") != nil, try !file.names(domain) {
            // A token must not be revealed to any relay but the one that issued it.
            changes.append(("HYBRID_TUNNEL_TOKEN_FILE", nil))
        }
        if let cacert { changes.append(("HYBRID_CACERT", try Self.absolute(cacert))) }
        try checkFiles()
        let bytes = try file.changed(changes)
        if !noCheck {
            try await untilSignal(orThrow: "interrupted; nothing was written") {
                try await check(domain, link?.token, progress)
            }
        }
        let isTokenSaved = try link?.token.map { token throws(CommandFailure) in
            try SetupFile.holds(token, at: tokenFile)
        }
        guard !file.holds(bytes) || isTokenSaved == false else {
            return progress.show("unchanged", "\(file.path) is up to date; nothing to do", domain)
        }
        if !json { Self.announce(changes, to: file.path) }
        if dialogue.isPossible, !dialogue.agree("Write it?") {
            throw CommandFailure("nothing was written", status: .notPermitted)
        }
        if let token = link?.token { try SetupFile.write(token, to: tokenFile) }
        try file.write(bytes)
        progress.show("saved", "done; hybrid-auth scan uses the relay \(domain.host)", domain)
    }

    private static func announce(_ changes: [(name: String, value: String?)], to path: String) {
        report("to be written to \(path):")
        for (name, value) in changes {
            report(value.map { "  \(name)=\($0)" } ?? "  no \(name), because that token belongs to a different relay")
        }
    }

    /// Checks the given files, even with --no-check, so that no unusable file is saved.
    private func checkFiles() throws {
        if let tunnelTokenFile, noCheck { _ = try AuthSettings.token(tunnelTokenFile) }
        if let cacert { try TrustAnchors.check(cacert) }
    }

    private func chosenDomain(_ dialogue: SetupDialogue) throws -> TunnelDomain {
        if let tunnelDomain {
            if let domain = TunnelDomain(argument: tunnelDomain) { return domain }
            throw CommandFailure(AuthSettings.noDomain(tunnelDomain), status: .usage)
        }
        guard dialogue.isPossible else {
            throw CommandFailure("there is no terminal to ask on; use --tunnel-domain or --link", status: .usage)
        }
        report("a relay forwards messages between this device and the one you sign in on, and can't read them;")
        report("ask its operator for its number or host name, or see hybrid-relay domain")
        for _ in 0..<5 {
            guard let answer = dialogue.ask("Relay (number or host name): ") else { break }
            if answer.isEmpty { continue }
            if let domain = TunnelDomain(argument: answer) { return domain }
            report(AuthSettings.noDomain(answer))
        }
        throw CommandFailure("no relay was chosen; nothing was written", status: .usage)
    }

    /// Checks the relay; throws an error unless authenticators can use it.
    private func check(_ domain: TunnelDomain, _ token: BearerToken?, _ progress: SetupProgress) async throws {
        // The settings that scan will use, whether given here or saved before.
        var flags = GivenFlags()
        flags.set(AuthSettings.tunnelDomain, String(domain.id))
        flags.set(AuthSettings.tunnelTokenFile, tunnelTokenFile)
        flags.set(AuthSettings.cacert, cacert)
        let settings = try AuthSettings.resolve(flags)
        var options = CheckOptions()
        options.trustedCertificates = try settings.value(AuthSettings.cacert)
        options.connectTo = connectTo
        options.environment = ProcessEnvironment.variables
        options.token = try token ?? AuthSettings.tokenFile(for: domain, settings).map(AuthSettings.token)
        progress.show("checking", "checking the relay \(domain.host); this takes a few seconds", domain)
        let result: CheckReport
        do {
            result = try await RelayChecker(relay: RelayAddress("wss://\(domain.host)"), options: options).run()
        } catch let error as NetworkError where error.status == .unavailable {
            throw CommandFailure(
                "\(error.sentence); nothing was written (--no-check writes without a check)",
                status: .unavailable
            )
        }
        switch result.verdict {
        case .conforms: progress.show("works", "the relay works (\(result.summary))", domain)
        case .differs:
            let names = result.results.filter { $0.id.level == .required }.compactMap { check in
                if case .differs = check.outcome { check.id.rawValue } else { nil }
            }
            throw CommandFailure(
                "the relay lacks what phones need (\(names.joined(separator: ", "))); nothing was written; see "
                    + "hybrid-relay check wss://\(domain.host), or use --no-check",
                status: .unavailable
            )
        case .incomplete where result.requiresToken:
            throw CommandFailure("\(NetworkError.notAuthorized.sentence); nothing was written", status: .unavailable)
        case .incomplete:
            throw CommandFailure(
                "the relay could not be checked in full; nothing was written; try later, or use --no-check",
                status: .temporary
            )
        }
    }

    /// Returns the absolute path of an existing file.
    private static func absolute(_ path: String) throws(CommandFailure) -> String {
        guard let resolved = resolvedPath(path) else {
            let error: FileReadError = errno == ENOENT ? .missing : .failed(errorNumber: errno)
            throw CommandFailure("\(path): \(error.sentence)", status: .noInput)
        }
        return resolved
    }
}

/// The steps of a setup on standard error, as lines for users or as JSON for programs.
private struct SetupProgress: Sendable {
    private let report: ProgressReport

    init(isForPrograms: Bool) {
        report = ProgressReport(program: HybridAuth.programName, format: isForPrograms ? .json : .lines)
    }

    /// Shows a step; users see it without the elapsed time.
    func show(_ name: String, _ text: String, _ domain: TunnelDomain) {
        guard report.format == .json else { return StandardError.writeLine("\(HybridAuth.programName): \(text)") }
        let details = [("relay", domain.host), ("tunnel_domain", String(domain.id))]
        report.enter(ProgressState(name, text, details: details))
    }
}

/// Questions on the terminal: written to standard error, answered on standard input.
struct SetupDialogue {
    /// True if there is a terminal, and questions are wanted.
    let isPossible: Bool

    init(isWanted: Bool = true) {
        isPossible = isWanted && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
    }

    /// Asks a question and returns the answer without surrounding blanks; `nil` at the end of the input.
    func ask(_ question: String) -> String? {
        StandardError.writeText(question)
        guard let line = StandardInput.line(atMost: 4096) else { return nil }
        let blanks = " \t\r".utf8
        let text = line.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()
        return String(decoding: Array(text), as: UTF8.self)
    }

    /// Asks a question and returns true for yes; any answer but n or no means yes, the end of the input means no.
    func agree(_ question: String) -> Bool {
        guard let answer = ask("\(question) [Y/n] ") else { return false }
        return !["n", "no"].contains(answer.lowercased())
    }
}
