// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVaultAgent

/// `hybrid-auth agent`: holds vault keys for fingerprints.
struct VaultAgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Hold vault keys, and release one for each fingerprint.",
        discussion: """
            After one PIN, the key of a vault with "vault finger enable" is held in memory. A match of a finger releases \
            it for one request. The PIN is needed again after a restart, a logout, a suspend, three misses or 12 hours. \
            Run it as a service: systemctl --user enable --now hybrid-auth-agent.socket
            """
    )

    @Option(help: ArgumentHelp("The socket to create, without a service manager.", valueName: "path"))
    var socket: String?

    @Flag(AuthSettings.fingerAfterSuspend) var fingerAfterSuspend: Bool?

    func run() async throws {
        StandardError.neverBlock(program: HybridAuth.programName)
        let survivesSuspend = try AuthSettings.resolve(self).value(AuthSettings.fingerAfterSuspend)
        let agent = VaultAgent(survivesSuspend: survivesSuspend, report: report)
        let notifier = ServiceNotifier()
        // A signal can't leave the socket behind once its handler exists.
        let ending = await withTerminationSignals {
            let socket = try listeningSocket()
            defer { socket.remove() }
            try await agent.run(on: socket) { _ = notifier.ready() }
            _ = notifier.stopping()
        }
        switch ending.signal {
        // A service is stopped by SIGTERM, which is no failure.
        case .terminate?, .hangup?: return
        case .interrupt?: throw CommandFailure("interrupted", status: .interrupted)
        case nil: try ending.result.get()
        }
    }

    /// Returns the service manager's socket, or creates one.
    private func listeningSocket() throws -> ServiceSocket {
        let inherited = try InheritedSockets.take()
        guard inherited.count <= 1 else {
            throw CommandFailure("socket activation: more than one socket", status: .configuration)
        }
        if let inherited = inherited.first {
            guard socket == nil else {
                throw CommandFailure("--socket is not for a service with a socket of its own", status: .usage)
            }
            return ServiceSocket(inherited: inherited.descriptor)
        }
        guard let path = socket ?? VaultAgentClient.defaultPath(ProcessEnvironment.variables) else {
            throw CommandFailure("XDG_RUNTIME_DIR is not set; set it, or use --socket", status: .usage)
        }
        return try ServiceSocket(path: path)
    }
}
