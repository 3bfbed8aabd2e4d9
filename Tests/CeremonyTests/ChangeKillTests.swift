// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// `import` and `passkeys signal`, killed at their system calls on files of the vault and the local state.
@Suite("Imports and signals, killed at any system call", .serialized)
struct ChangeKillTests {
    private struct List: Decodable {
        struct Entry: Decodable, Hashable {
            let userName: String
            let hidden: Bool
        }
        let passkeys: [Entry]
    }

    private static func list(_ program: VaultProgram) async throws -> Set<List.Entry> {
        let ending = try await program(["list", "--json", "--hidden"], of: "passkeys")
        #expect(ending.status == 0, "\(ending)")
        return Set(try JSONDecoder().decode(List.self, from: Data(ending.output.utf8)).passkeys)
    }

    /// Runs a command, and kills it before its n-th system call if there is a number; returns the calls.
    private static func run(_ program: VaultProgram, _ command: [String], killedAt number: Int?) async throws -> Int {
        let log = program.folder + "/calls"
        let kill = number.map { ["--kill", "\($0)"] } ?? []
        let tracer = try Tracer.watching([program.vault, program.folder + "/state"], log: log, kill)
        let ending = try await program(command, of: nil, under: tracer)
        #expect(ending.status == (number == nil ? 0 : 128 + SIGKILL), "\(ending)")
        return TestFile.text(log).split(separator: "\n").count
    }

    @Test(
        "each passkey is as before or as after, and the same command does the rest",
        .enabled("needs root with CAP_SYS_PTRACE, HYBRID_TEST_PYTHON and seccomp") { try await Tracer.canWatch.value },
        arguments: ["import", "signal"]
    )
    func killed(name: String) async throws {
        try await VaultProgram.run { program in
            let files = FileManager.default
            let source = PackageFolder.path + "/Tests/Phone/CredentialExchange/bitwarden.json"
            try await program.makeVault()
            var command = ["import", source]
            if name == "signal" {
                try await program(command, of: nil).expect(0, errors: "added 3 passkeys")
                let signals = [("example.com", "YWRhQGV4YW1wbGUuY29t"), ("shop.example.org", "Ym9i")].map {
                    site,
                    user in
                    #"{"rpId":"\#(site)","userId":"\#(user)","allAcceptedCredentialIds":[]}"#
                }
                let file = program.folder + "/signal.json"
                try TestFile.write("[\(signals.joined(separator: ","))]", to: file)
                command = ["passkeys", "signal", file]
            }
            let before = try await Self.list(program)
            let kept = ["vault", "state"].map { (program.folder + "/" + $0, program.folder + "/kept-" + $0) }
            for (path, copy) in kept { try files.copyItem(atPath: path, toPath: copy) }
            let count = try await Self.run(program, command, killedAt: nil)
            let after = try await Self.list(program)
            #expect(before != after && count > 0)
            for number in stride(from: count, through: 1, by: -(Thoroughness.isFull ? 1 : max(1, count / 5))) {
                for (path, copy) in kept {
                    try files.removeItem(atPath: path)
                    try files.copyItem(atPath: copy, toPath: path)
                }
                _ = try await Self.run(program, command, killedAt: number)
                let found = try await Self.list(program)
                let comment: Comment = "killed at \(number) of \(count)"
                #expect(found.isSubset(of: before.union(after)), comment)
                #expect(Set(found.map(\.userName)).isSuperset(of: before.map(\.userName)), comment)
                #expect(try await program(command, of: nil).status == 0, comment)
                #expect(try await Self.list(program) == after, comment)
            }
        }
    }
}
