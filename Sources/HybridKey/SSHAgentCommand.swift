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

    @Option(
        help: ArgumentHelp(
            "A further socket for a container or virtual machine, whose browser asks by this name; repeatable.",
            discussion: "Permit it with hybrid-key remote allow socket:NAME. Never give it to a different host.",
            valueName: "name=path"
        )
    )
    var namedSocket: [NamedSocket] = []

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
        if let upstream = agent.upstream, ([path, restrictedSocket] + namedSocket.map(\.path)).contains(upstream) {
            throw RunningSSHAgent.ownUpstream
        }
        let places =
            [(path, "--socket")] + (restrictedSocket.map { [($0, "--restricted-socket")] } ?? [])
            + namedSocket.map { ($0.path, "--named-socket") }
        let others = (restrictedSocket == nil ? [] : [nil]) + namedSocket.map { Optional($0.name) }
        let names = namedSocket.map { ", for \($0.name) on \($0.path)" }.joined()
        let listening = "listening on \(path)" + (restrictedSocket.map { ", restricted on \($0)" } ?? "") + names
        try agent.serve(others: others) {
            let sockets = try Self.create(places)
            HybridKey.report(listening)
            return sockets
        }
    }

    /// Creates all of these sockets, or none.
    private static func create(_ places: [(path: String, option: String)]) throws -> [ServiceSocket] {
        var sockets: [ServiceSocket] = []
        do {
            for place in places { sockets.append(try ServiceSocket(path: place.path, option: place.option)) }
        } catch {
            for socket in sockets { socket.remove() }
            throw error
        }
        return sockets
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
            FileDescriptorName=\(restrictedName) is only for forwarding to other hosts, and one with \
            FileDescriptorName=socket-NAME is for a container whose browser asks by that name.
            """
    )

    /// The name of the socket that is only for forwarding.
    private static let restrictedName = "restricted"

    /// Returns true for the name of the agent's own socket.
    private static func isMain(_ name: String?) -> Bool {
        name != restrictedName && name.flatMap(NamedSocket.name(ofDescriptor:)) == nil
    }

    @OptionGroup
    var ceremony: CeremonyOptions

    func run() throws {
        let sockets = try InheritedSockets.take()
        guard let inherited = sockets.first(where: { Self.isMain($0.name) }) else {
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
        let others = sockets.filter { $0.descriptor != inherited.descriptor }
        try agent.serve(others: others.map { $0.name.flatMap(NamedSocket.name(ofDescriptor:)) }) {
            _ = notifier.ready()
            return ([inherited] + others).map { ServiceSocket(inherited: $0.descriptor) }
        }
        _ = notifier.stopping()
    }
}

/// The agent with its keys, journal and ceremonies.
private struct RunningSSHAgent {
    private let server: SSHAgentServer
    /// Returns the server of a socket that is only for forwarding, or for a container of this name.
    private let otherServer: @Sendable (String?) -> SSHAgentServer?
    /// The socket of another agent.
    let upstream: String?
    let launcher: CeremonyLauncher

    init(
        _ options: CeremonyOptions,
        flagsOf command: some ParsableArguments,
        usesTerminal: Bool,
        seconds: Int
    ) throws {
        StandardError.neverBlock(program: HybridKey.programName)
        let settings = try KeySettings.resolve(command)
        upstream = try settings.value(KeySettings.upstream)
        let folder = try KeySettings.stateFolder()
        let keys = try SSHKeyRing(SSHKeyStore(in: folder), report: HybridKey.report)
        launcher = try options.launcher(settings, usesTerminal: usesTerminal) { SessionLock.isLocked() }
        let display = usesTerminal ? .terminal : try KeySettings.display(settings)
        if let problem = display.problem(in: ProcessEnvironment.variables) { HybridKey.report("warning: \(problem)") }
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
        let remote = RemoteSignInService(
            launcher: launcher,
            permissions: RemotePermissionStore(in: folder),
            keys: keys,
            journal: Journal(in: folder),
            knownHosts: KeySettings.knownHosts,
            seconds: seconds,
            report: HybridKey.report
        )
        let main = SSHAgentServer(keys: keys, signing: signing, remote: remote, upstream: upstream, refused: refused)
        guard let main else { throw Self.noDescriptors }
        server = main
        otherServer = { name in
            SSHAgentServer(
                keys: keys,
                signing: signing,
                remote: remote,
                isRestricted: true,
                socketName: name,
                refused: refused
            )
        }
    }

    private static let noDescriptors = CommandFailure("no file descriptors left", status: .unavailable)

    static let ownUpstream = CommandFailure(
        "the upstream socket is the agent's own; use the socket of a different agent",
        status: .configuration
    )

    /// Serves clients until a signal, then removes the sockets.
    ///
    /// - Parameters:
    ///   - others: The sockets besides the agent's own: that of a container by its name, `nil` for the one for forwarding.
    ///   - open: Returns the agent's own socket, then the others, once a signal can't leave them behind.
    func serve(others: [String?], open: () throws -> [ServiceSocket]) throws {
        let further = try others.map { name in
            guard let server = otherServer(name) else { throw Self.noDescriptors }
            return server
        }
        let servers = [server] + further
        let stop = { @Sendable in
            for one in servers { one.stop() }
        }
        let signal = try withTerminationSignals(stop: stop) {
            let sockets = try open()
            defer { for one in sockets { one.remove() } }
            // Otherwise, each request for the other agent would come back until no connection is left.
            if let upstream, sockets.contains(where: { $0.isReached(by: upstream) }) { throw Self.ownUpstream }
            for (server, socket) in zip(servers, sockets).dropFirst() {
                guard DedicatedThread.start({ server.serve(socket) }) else {
                    throw CommandFailure("no threads left", status: .unavailable)
                }
            }
            server.serve(sockets[0])
        }
        // A service is stopped by SIGTERM, which is no failure.
        if signal == .interrupt { throw CommandFailure("interrupted", status: .interrupted) }
    }
}

/// A socket for a container or virtual machine, `NAME=PATH`.
struct NamedSocket: ExpressibleByArgument {
    /// The name in permissions for websites.
    let name: String
    /// The path of the socket.
    let path: String

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, RemoteHost.isName(parts[0]) else { return nil }
        (name, path) = (parts[0], parts[1])
    }

    private static let prefix = "socket-"

    /// Returns the name of an inherited socket; `nil` unless it is for a container.
    static func name(ofDescriptor text: String) -> String? {
        let name = String(text.dropFirst(prefix.count))
        return text.hasPrefix(prefix) && RemoteHost.isName(name) ? name : nil
    }
}
