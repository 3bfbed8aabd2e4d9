// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridPrimitives
internal import HybridProgram

/// Option for the form in which a command reports what it has done.
struct ResultOutput: ParsableArguments {
    @Flag(help: "One JSON object on standard output.")
    var json = false

    /// Reports the result of a command.
    ///
    /// - Parameters:
    ///   - members: The result for programs, with `--json`.
    ///   - lines: The result for users, otherwise.
    func show(_ members: [(String, JSONText)], _ lines: String?...) throws(CommandFailure) {
        guard json else {
            for line in lines { if let line { report(line) } }
            return
        }
        try StandardOutput.writeLine(JSONText.object(members).description)
    }
}
