// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridProgram

/// The command `hybrid-key log`, which prints the journal of all requests.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Print the signatures that programs requested, and the results.",
        discussion: "Each line has time, result, purpose, and the passkey's domain. The times are in UTC."
    )

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() async throws {
        let entries = try Journal(in: try KeySettings.stateFolder()).entries()
        if entries.isEmpty { HybridKey.report("there are no requests yet") }
        for entry in entries {
            try StandardOutput.writeLine(json ? entry.json : entry.text)
        }
    }
}
