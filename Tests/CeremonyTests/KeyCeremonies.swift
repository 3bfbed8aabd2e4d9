// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridKeyService
import TestSupport

extension CeremonyEnvironment {
    /// Performs a request of hybrid-key's agent or security key with hybrid-auth.
    ///
    /// - Returns: The results of both programs, and the answer of a ceremony that succeeded.
    func performKeyCeremony(
        _ command: CeremonyRequest.Command,
        extra: [String] = []
    ) async throws -> (ceremony: CeremonyResult, answer: CeremonyAnswer?) {
        let base = "\(folder)/\(UUID().uuidString.prefix(8))"
        let request = CeremonyRequest(command, purpose: "test", seconds: 60)
        try Data(request.encoded).write(to: URL(fileURLWithPath: base + ".request"))
        // The ceremony is canceled at the end of its input, so it holds the other end of its input itself.
        let script = #"mkfifo "$1" && exec 0<>"$1" && cat "$2" >&0 && shift 2 && exec "$@""#
        let key = try start(
            "/bin/sh",
            ["-c", script, "sh", base + ".fifo", base + ".request", BuildFolder.program("hybrid-key")]
                + ["ceremony", "--display", "json"] + network,
            output: base + ".answer"
        )
        let phone = try startAuthenticator(try await code(of: key), extra: extra)
        let ceremony = CeremonyResult(client: try await key.ending(), authenticator: try await phone.ending())
        let bytes = Array(FileManager.default.contents(atPath: base + ".answer") ?? Data())
        return (ceremony, ceremony.client.status == 0 ? CeremonyAnswer(parsing: bytes) : nil)
    }

    /// Waits for the code of a program that reports its progress as JSON.
    func code(of program: RunningProgram) async throws -> String {
        let event = try await program.line { $0.contains(#""event":"qr""#) }
        return try JSONDecoder().decode(JSONValue.self, from: Data(event.utf8)).text("text")
    }
}
