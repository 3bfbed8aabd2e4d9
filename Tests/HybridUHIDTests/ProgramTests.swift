// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite("hybrid-uhid", .timeLimit(.minutes(5)))
struct ProgramTests {
    @Test("Has a version, no other option, and needs a socket")
    func arguments() async throws {
        try await TestFolder.with { folder in
            let version = try await RunningProgram("hybrid-uhid", ["--version"], in: folder.path).ending()
            #expect(version.status == 0 && version.output.wholeMatch(of: /[0-9]+\.[0-9]+\.[0-9]+.*\n/) != nil)
            for arguments in [["--help"], ["serve"], ["--version", "--version"], [""]] {
                let ending = try await RunningProgram("hybrid-uhid", arguments, in: folder.path).ending()
                #expect(ending.status == 64 && ending.lastLine.contains("hybrid-uhid(8)"), "\(ending)")
            }
            let ending = try await RunningProgram("hybrid-uhid", [], in: folder.path).ending()
            #expect(ending.status == 64)
            #expect(
                ending.errors
                    == "hybrid-uhid: no socket from the service manager; start hybrid-uhid.socket instead\n"
            )
        }
    }

    /// Other programs are no example: SwiftNIO ignores the signal, too.
    @Test("Outlives the program that reads its output")
    func unreadOutput() async throws {
        let script = """
            import os, signal, sys
            reader, writer = os.pipe()
            os.close(reader)
            os.dup2(writer, 1)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execv(sys.argv[1], sys.argv[1:])
            """
        try await TestFolder.with { folder in
            let arguments = ["-c", script, BuildFolder.program("hybrid-uhid"), "--version"]
            let ending = try await RunningProgram("/usr/bin/python3", arguments, in: folder.path).ending()
            #expect(ending.status == 74 && ending.lastLine.contains("standard output"), "\(ending)")
        }
    }

    /// Starts the program with a socket of a kind as descriptor 3, like a service manager.
    private func start(_ kind: String, in folder: TestFolder) throws -> RunningProgram {
        let script = """
            import os, socket, sys
            listener = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[2]))
            listener.bind(sys.argv[3])
            if sys.argv[2] != "SOCK_DGRAM": listener.listen()
            # Descriptor 3 itself stays open.
            if listener.fileno() != 3: os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
            os.environ.pop("HYBRID_UHID_USERS", None)
            os.execv(sys.argv[1], sys.argv[1:2])
            """
        let python = ["/usr/bin/python3", "-c", script, BuildFolder.program("hybrid-uhid"), kind]
        let command = Inspection.unprivileged + python + [folder.path + "/socket"]
        return try RunningProgram(command[0], Array(command.dropFirst()), in: folder.path)
    }

    @Test("Refuses other kinds of sockets", arguments: ["SOCK_STREAM", "SOCK_DGRAM"])
    func otherSockets(kind: String) async throws {
        try await TestFolder.with { folder in
            let ending = try await start(kind, in: folder).ending()
            #expect(ending.status == 64 && ending.lastLine.contains("no socket"), "\(ending)")
        }
    }

    @Test("Closes the connection of a user who may not have a device, and goes on")
    func refusal() async throws {
        try await TestFolder.with { folder in
            let program = try start("SOCK_SEQPACKET", in: folder)
            let path = folder.path + "/socket"
            try await Waiting.until("the socket") { FileManager.default.fileExists(atPath: path) }
            for _ in 0..<2 {
                let client = try await connected(path)
                #expect(try await client.receive() == [])
            }
            // On a desktop, the user of the tests is active on seat0, but may not open /dev/uhid.
            let line = try await program.line { $0.hasPrefix("user ") }
            #expect(line.contains("not active on seat0") || line.contains("/dev/uhid: "), "\(line)")
            #expect(try await !Inspection.isAllowed(of: program.identifier))
            program.send(SIGTERM)
            #expect(try await program.ending().status == 128 + SIGTERM)
        }
    }

    private func connected(_ path: String) async throws -> Endpoint {
        var client: Endpoint?
        try await Waiting.until("a connection") {
            client = try? Endpoint(path: path)
            return client != nil
        }
        return try #require(client)
    }

    @Test("Links neither Foundation nor SwiftNIO nor the argument parser")
    func dependencies() async throws {
        try await TestFolder.with { folder in
            let modules = ["20FoundationEssentials", "10Foundation", "7NIOCore", "14ArgumentParser", "7Logging"]
            let own = "10HybridUHID"
            for module in [own] + modules {
                let arguments = ["-qaF", "$s\(module)", BuildFolder.program("hybrid-uhid")]
                let status = try await RunningProgram("/bin/grep", arguments, in: folder.path).ending().status
                #expect(status == (module == own ? 0 : 1), "\(module)")
            }
        }
    }
}
