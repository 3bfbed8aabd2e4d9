// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The real program, killed and refused at places all over its writes; `Tests/VaultFormat/kill_anywhere.py` without
/// `--every` tries each place.
@Suite("hybrid-auth vault, killed anywhere", .serialized)
struct VaultKillTests {
    private static let python = ProcessInfo.processInfo.environment["HYBRID_TEST_PYTHON"]
    private static let hasStrace = FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")

    @Test(
        "kill -9 and a full disk at any system call lose nothing, and every write is synced in order",
        // It takes minutes; and strace counts calls by thread, so places found in one run may not be met in the next.
        .enabled(if: python != nil && hasStrace && Thoroughness.isFull, "needs HYBRID_TEST_THOROUGH, python and strace")
    )
    func killAnywhere() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/hybrid-kill-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ending = try await RunningProgram(
            try #require(Self.python),
            [
                PackageFolder.path + "/Tests/VaultFormat/kill_anywhere.py", BuildFolder.program("hybrid-auth"),
                "--every", "11",
            ],
            in: folder,
            environment: ProcessInfo.processInfo.environment
        ).ending(within: .seconds(600))
        #expect(ending.status == 0, "\(ending)")
        #expect(ending.output.contains("0 losses"), "\(ending)")
    }

    @Test(
        "what the program writes is read by another program from its description alone",
        .enabled(if: python != nil, "needs HYBRID_TEST_PYTHON")
    )
    func otherReader() async throws {
        try await VaultProgram.run { program in
            let (pin, passphrase) = (VaultProgram.pin, VaultProgram.passphrase)
            let made = try await program(["init"], typing: [pin, pin])
            let added = try await program(["add-passphrase"], typing: [pin, passphrase, passphrase])
            let saved = try await program(["backup", program.folder + "/backup"], typing: [pin])
            #expect(made.status == 0 && added.status == 0 && saved.status == 0, "\(made) \(added) \(saved)")
            for (command, path) in [("read", program.vault), ("backup", program.folder + "/backup")] {
                let ending = try await RunningProgram(
                    try #require(Self.python),
                    [PackageFolder.path + "/Tests/VaultFormat/vault_format.py", command, path, passphrase],
                    in: program.folder,
                    environment: ProcessInfo.processInfo.environment
                ).ending()
                #expect(ending.status == 0 && ending.output.contains("\"passkeys\": []"), "\(ending)")
            }
        }
    }
}
