// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

/// The command `hybrid-key agent`, an SSH agent in the foreground.
struct SSHAgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Offer the phone's SSH keys on a socket, for IdentityAgent in ~/.ssh/config.",
        discussion: """
            Each signature shows a code, which the phone scans: in hybrid-prompt if it is installed, otherwise on a page \
            in the browser. The agent signs SSH logins and messages such as git commits only.
            """
    )

    @Option(help: ArgumentHelp("The socket; default: $XDG_RUNTIME_DIR/hybrid-key.sock.", valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("A further socket, to be forwarded to other hosts: only for logins.", valueName: "path"))
    var restrictedSocket: String?

    @Option(KeySettings.upstream) var upstream: String?

    @Flag(help: "Show the code on this terminal.")
    var tty = false

    @Option(help: ArgumentHelp("Seconds to wait for a phone, then again for its user's answer.", valueName: "s"))
    var timeout = 100

    @OptionGroup
    var ceremony: CeremonyOptions

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
    }

    func run() throws {
        if tty, isatty(STDERR_FILENO) != 1 {
            throw CommandFailure(
                "standard error is not a terminal; run the agent in one, or omit --tty",
                status: .usage
            )
        }
        let agent = try RunningSSHAgent(ceremony, flagsOf: self, usesTerminal: tty, seconds: timeout)
        let path = try socket ?? Self.defaultSocket()
        // Before the socket is created, which takes a file that an ended process has left behind.
        if let upstream = agent.upstream, [path, restrictedSocket].contains(upstream) {
            throw RunningSSHAgent.ownUpstream
        }
        let listener = try ServiceSocket(path: path)
        let restricted: ServiceSocket?
        do {
            restricted = try restrictedSocket.map { try ServiceSocket(path: $0, option: "--restricted-socket") }
        } catch {
            listener.remove()
            throw error
        }
        HybridKey.report("listening on \(path)" + (restrictedSocket.map { ", restricted on \($0)" } ?? ""))
        try agent.serve(listener, restricted: restricted)
    }

    private static func defaultSocket() throws -> String {
        guard let folder = ProcessEnvironment.variables["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else {
            throw CommandFailure("XDG_RUNTIME_DIR is not set; use --socket", status: .usage)
        }
        return "\(folder)/hybrid-key.sock"
    }
}

/// The command `hybrid-key serve`, the agent as a service that systemd starts on the first connection.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the agent and the security key as a service of systemd.",
        discussion: """
            The agent's socket is that of hybrid-key-agent.socket. The security key exists while the system service \
            hybrid-uhid is installed and this user is logged in at the computer. A further socket with \
            FileDescriptorName=\(restrictedName) is only for forwarding to other hosts.
            """
    )

    /// The name of the socket that is only for forwarding.
    private static let restrictedName = "restricted"

    @OptionGroup
    var ceremony: CeremonyOptions

    func run() throws {
        let sockets = try InheritedSockets.take()
        guard let inherited = sockets.first(where: { $0.name != Self.restrictedName }) else {
            throw CommandFailure(
                "no socket from the service manager; run: systemctl --user start hybrid-key-agent.socket, or use "
                    + "hybrid-key agent",
                status: .usage
            )
        }
        let agent = try RunningSSHAgent(ceremony, flagsOf: self, usesTerminal: false, seconds: 100)
        // One launcher, so that SSH and the security key do not open two windows at once.
        let securityKey = SecurityKeyService.start(agent.launcher)
        defer { securityKey?.stop() }
        let notifier = ServiceNotifier()
        _ = notifier.ready()
        let restricted = sockets.first { $0.name == Self.restrictedName }
        try agent.serve(
            ServiceSocket(inherited: inherited.descriptor),
            restricted: restricted.map { ServiceSocket(inherited: $0.descriptor) }
        )
        _ = notifier.stopping()
    }
}

/// The agent with its keys, journal and ceremonies.
private struct RunningSSHAgent {
    private let server: SSHAgentServer
    /// The server of the socket that is only for forwarding.
    private let restrictedServer: SSHAgentServer
    /// The socket of another agent.
    let upstream: String?
    let launcher: CeremonyLauncher

    init(
        _ options: CeremonyOptions,
        flagsOf command: some ParsableArguments,
        usesTerminal: Bool,
        seconds: Int
    ) throws {
        let settings = try KeySettings.resolve(command)
        upstream = try settings.value(KeySettings.upstream)
        let folder = try KeySettings.stateFolder()
        let keys = try SSHKeyRing(SSHKeyStore(in: folder), report: HybridKey.report)
        launcher = try options.launcher(settings, usesTerminal: usesTerminal) { SessionLock.isLocked() }
        let signer = SSHSigner(
            keys: keys,
            launcher: launcher,
            journal: Journal(in: folder),
            knownHosts: KeySettings.knownHosts,
            seconds: seconds,
            report: HybridKey.report
        )
        let signing = SigningService(perform: signer.sign)
        let refused: @Sendable (String) -> Void = { HybridKey.report("refused a request: \($0)") }
        guard let server = SSHAgentServer(keys: keys, signing: signing, upstream: upstream, refused: refused),
            let restrictedServer = SSHAgentServer(keys: keys, signing: signing, isRestricted: true, refused: refused)
        else { throw CommandFailure("no file descriptors left", status: .unavailable) }
        (self.server, self.restrictedServer) = (server, restrictedServer)
    }

    static let ownUpstream = CommandFailure(
        "the upstream socket is the agent's own; use the socket of a different agent",
        status: .configuration
    )

    /// Serves clients until a signal, then removes the sockets.
    func serve(_ socket: ServiceSocket, restricted: ServiceSocket?) throws {
        defer { for one in [socket, restricted] { one?.remove() } }
        // Otherwise, each request for the other agent would come back until no connection is left.
        if let upstream, [socket, restricted].contains(where: { $0?.isReached(by: upstream) ?? false }) {
            throw Self.ownUpstream
        }
        let (server, restrictedServer) = (server, restrictedServer)
        let stop = { @Sendable in
            server.stop()
            restrictedServer.stop()
        }
        let signal = try withTerminationSignals(stop: stop) {
            if let restricted, !DedicatedThread.start({ restrictedServer.serve(restricted) }) {
                throw CommandFailure("no threads left", status: .unavailable)
            }
            server.serve(socket)
        }
        // A service is stopped by SIGTERM, which is no failure.
        if signal == .interrupt { throw CommandFailure("interrupted", status: .interrupted) }
    }
}
