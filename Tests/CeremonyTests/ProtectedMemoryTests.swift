// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// Other programs of the same user cannot read the secrets in a program's memory, and no core dump contains them.
@Suite("Protected memory", .keepsEvidence)
struct ProtectedMemoryTests {
    /// Expects the limit of one byte, with which the kernel dumps no core.
    private func expectNoCore(of process: Int32, _ location: SourceLocation = #_sourceLocation) {
        let limit = Inspection.coreLimit(of: process)
        // Only root can raise a hard limit of zero that the tests have inherited.
        let isLowest = limit == "0" && Inspection.coreLimit(of: getpid()) == "0"
        #expect(limit == "1" || isLowest, "\(limit ?? "unknown")", sourceLocation: location)
    }

    @Test("client and authenticator cannot be inspected while they hold keys")
    func ceremony() async throws {
        let other = try SpawnedProcess(Inspection.unprivileged + ["/bin/sleep", "300"])
        try await Waiting.until("an ordinary program can be inspected") {
            try await Inspection.isAllowed(of: other.identifier)
        }
        try await CeremonyEnvironment.run { environment in
            let command =
                Inspection.unprivileged + [BuildFolder.program("hybrid-client"), "show-qr", "--request", "-"]
                + ["--origin", CeremonyEnvironment.origin, "--print-url"] + environment.network
            let request = try await environment.site("create-options")
            let client = try environment.start(command[0], Array(command.dropFirst()), input: request)
            let code = try await client.line { $0.hasPrefix("FIDO:/") }
            let phone = try environment.startAuthenticator(
                code,
                TestUser(confirms: "hang"),
                under: Inspection.unprivileged
            )
            try await environment.untilAsked()
            #expect(try await !Inspection.isAllowed(of: client.identifier))
            #expect(try await !Inspection.isAllowed(of: phone.identifier))
            expectNoCore(of: phone.identifier)
            expectNoCore(of: environment.relay.program.identifier)
            // Both still run.
            client.send(SIGINT)
            #expect(try await client.ending().status == 130)
            #expect(try await phone.ending().status != 0)
        }
        other.send(SIGKILL)
    }

    @Test(
        "a relay cannot be inspected, also if it cannot set its limit on core dumps",
        arguments: [[], ["/bin/sh", "-c", "ulimit -c 0; exec \"$@\"", "sh"]]
    )
    func relay(limit: [String]) async throws {
        try await TestFolder.with { folder in
            // Root could raise the hard limit.
            let isRoot = geteuid() == 0
            let before = isRoot ? ["/usr/bin/setpriv", "--bounding-set=-sys_ptrace,-sys_resource"] : []
            let command =
                limit + before + [
                    BuildFolder.program("hybrid-relay"), "serve", "--listen", "127.0.0.1:0", "--plaintext",
                ]
            let relay = try RunningProgram(command[0], Array(command.dropFirst()), in: folder.path)
            defer { relay.send(SIGKILL) }
            _ = try await relay.line { $0.contains("listening on 127.0.0.1:") }
            #expect(try await !Inspection.isAllowed(of: relay.identifier))
            if limit.isEmpty {
                expectNoCore(of: relay.identifier)
            } else {
                #expect(Inspection.coreLimit(of: relay.identifier) == "0")
            }
        }
    }

    @Test("a lab cannot be inspected, but its commands are not affected")
    func lab() async throws {
        try await TestFolder.with { folder in
            let script = """
                test -d /proc/$PPID/root/.; echo "lab $?"
                sleep 300 & test -d /proc/$!/root/.; echo "command $?"; kill $!
                ulimit -H -c
                """
            let command = Inspection.unprivileged + [BuildFolder.program("hybrid-lab"), "air", "--"]
            let lab = try await RunningProgram(
                command[0],
                command.dropFirst() + ["/bin/sh", "-c", script],
                in: folder.path
            ).ending()
            let limit = try await RunningProgram("/bin/sh", ["-c", "ulimit -H -c"], in: folder.path).ending()
            #expect(lab.output == "lab 1\ncommand 0\n" + limit.output, "\(lab)")
        }
    }
}
