// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// A user whom a program asks in place of pinentry: `Tests/Counterparts/ask.py`, which follows a script.
struct AskedUser: Sendable {
    static let program = PackageFolder.path + "/Tests/Counterparts/ask.py"

    /// Path of the lines that the program has received.
    let log: String
    /// Flags of `hybrid-auth`.
    let flags = ["--ask", program]
    /// Variables of the program.
    let variables: [String: String]

    /// Creates a user.
    ///
    /// - Parameters:
    ///   - folder: A folder for the script and the log.
    ///   - name: The name of both, unique in the folder.
    ///   - script: The answers to each kind of question, in JSON.
    init(in folder: String, _ name: String, _ script: String) throws {
        log = "\(folder)/ask-\(name).log"
        variables = ["TEST_ASK_SCRIPT": "\(folder)/ask-\(name).json", "TEST_ASK_LOG": log]
        try TestFile.write(script, to: "\(folder)/ask-\(name).json")
    }

    /// The lines that the program has received.
    func lines() throws -> [JSONValue] { try JSONValue.lines(TestFile.text(log)) }

    /// The questions of a kind.
    func questions(_ kind: JSONValue) throws -> [JSONValue] { try lines().filter { $0["kind"] == kind } }

    /// The names of states, kinds of questions, reasons of withdrawals and the end, in their order.
    func story() throws -> [String] {
        try lines().compactMap { line in
            for name in ["state", "kind", "because", "end"] {
                if case .text(let text)? = line[name] { return text }
            }
            return nil
        }
    }

    /// Waits until the program has received words.
    func untilAsked(_ words: String) async throws {
        try await Waiting.until(words) { TestFile.text(log).contains(words) }
    }

    /// Waits until the program's input has ended.
    func untilEnded() async throws { try await untilAsked(#"{"ended": true}"#) }
}
