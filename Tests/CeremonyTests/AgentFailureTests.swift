// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Glibc
import HybridCTAP
import HybridCommandSupport
import HybridSSHAgent
import TestSupport
import Testing

@testable import HybridKeyService

/// Requests to `hybrid-key agent` that fail without a window or a terminal, as in a service.
@Suite("Failures of the SSH agent", .keepsEvidence, SharedEnvironment(), .serialized)
struct AgentFailureTests {
    /// Sends one request to an agent and prints the type of the answer.
    private static let client = """
        import socket, sys
        agent = socket.socket(socket.AF_UNIX)
        agent.connect(sys.argv[1])
        agent.sendall(bytes.fromhex(sys.argv[2]))
        answer = agent.makefile("rb")
        print(answer.read(int.from_bytes(answer.read(4), "big"))[0])
        """

    /// An agent that has refused a request for a signature.
    private struct Refusal {
        let key: StoredSSHKey
        let log: String
        let journal: String
    }

    private static func string(_ bytes: some Collection<UInt8>) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes
    }

    /// Asks an agent without a terminal to sign a message.
    ///
    /// Its time limits for the phone are an hour, so an answer shows that it does not wait for them.
    private func ask(variables: [String: String]) async throws -> Refusal {
        let environment = try CeremonyEnvironment.shared()
        let base = "\(environment.folder)/\(UUID().uuidString.prefix(8))"
        let variables = ["XDG_STATE_HOME": base].merging(variables) { $1 }
        let id = try #require(RelyingPartyID("key.example.org"))
        let stored = StoredSSHKey(
            try SSHPublicKey(
                x963Representation: Array(P256.Signing.PrivateKey().publicKey.x963Representation),
                application: try #require(SSHApplication(id.text))
            ),
            credentialID: try #require(CredentialID(bytes: [1, 2, 3])),
            comment: try #require(SSHKeyComment("work"))
        )
        let key = try #require(stored)
        try SSHKeyStore(in: try StateFolder(path: base + "/hybrid/key")).add([key])
        let arguments = ["agent", "--timeout", "3600", "--socket", base + ".sock"] + environment.network
        let agent = try environment.start("hybrid-key", arguments, variables: variables)
        _ = try await agent.line { $0.contains("listening on") }

        let message = Array("SSHSIG".utf8) + ["git", "", "sha256"].flatMap { Self.string(Array($0.utf8)) }
        let data = message + Self.string(Array(0..<32))
        let request = [13] + Self.string(key.publicKey.encoded) + Self.string(data) + [0, 0, 0, 0]
        let hex = Self.string(request).map { String(format: "%02x", $0) }.joined()
        let answer = try environment.start("/usr/bin/python3", ["-c", Self.client, base + ".sock", hex])
        let ending = try await answer.ending()
        #expect(ending.output == "5\n", "\(ending)\n\(agent.errors)")
        agent.send(SIGTERM)
        let log = try await agent.ending()
        #expect(log.status == 0, "\(log)")
        let journal = try await environment.start("hybrid-key", ["log"], variables: variables).ending()
        return Refusal(key: key, log: log.errors, journal: journal.output)
    }

    @Test(
        "Where nothing can show a code, a request is refused at once, and log, journal and status say what to install"
    )
    func noDisplay() async throws {
        let variables = [
            "PATH": "/nowhere", "BROWSER": "/nowhere/browser", "DISPLAY": "", "WAYLAND_DISPLAY": "",
        ]
        let refusal = try await ask(variables: variables)
        let remedy = "install hybrid-prompt, set HYBRID_PROMPT or BROWSER, or use hybrid-key agent --tty"
        let problem = "there is no prompt program and no browser, so no code can be shown; \(remedy)"
        let program = try CeremonyEnvironment.shared().start("hybrid-key", ["status", "--json"], variables: variables)
        let status = try await program.ending()
        #expect(try JSONValue.lines(status.output).first?["promptProblem"] == .text(problem), "\(status)")
        let lines = refusal.log.split(separator: "\n")
        #expect(lines.first.map(String.init) == "hybrid-key: warning: \(problem)", "\(refusal)")
        let line = try #require(lines.last)
        #expect(line.hasPrefix("hybrid-key: refused a request: no browser could be opened"), "\(refusal)")
        let advice = "or run this in a terminal (for ssh: hybrid-key agent --tty) (no-display)"
        #expect(line.contains("so the code can't be shown; install") && line.hasSuffix(advice), "\(refusal)")
        #expect(lines.count == 3 && !refusal.log.contains("FIDO:/"), "no code: \(refusal)")
        #expect(refusal.journal.contains("failed: no browser could be opened"), "\(refusal)")
        #expect(refusal.journal.contains(advice), "\(refusal)")
    }

    @Test("The cause of a failure before the code is in log and journal, and the log does not name the key")
    func noBluetooth() async throws {
        let refusal = try await ask(variables: [
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere/bus", "BROWSER": "/bin/true",
        ])
        let cause = try #require(refusal.log.split(separator: "\n").last)
        let words = try #require(cause.wholeMatch(of: /hybrid-key: refused a request: (.+; .+ \(no-system-bus\))/)).1
        #expect(refusal.journal.contains("failed: \(words)"), "\(refusal)")
        #expect(!refusal.log.contains(refusal.key.relyingPartyID.text), "\(refusal)")
    }
}
