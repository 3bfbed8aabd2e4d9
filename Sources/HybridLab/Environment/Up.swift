// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport

/// `hybrid-lab up`: the table stands until it is told to go away.
struct Up: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Set up a virtual radio and a relay for browsers and phones that are started beside it.",
        discussion: """
            Prints what they need as lines for a shell, or with --json as one JSON object on one line, and stays until \
            it gets Ctrl-C or SIGTERM. With --env-file the lines stand in a file, which is there when all is ready and \
            gone when it is over. A file that is there before is not touched, unless a run left it that was killed.
            """
    )

    @OptionGroup(title: "The table")
    var options: LabEnvironmentOptions

    @Flag(help: "Print what programs need as JSON.")
    var json = false

    @Option(help: ArgumentHelp("Write the lines for a shell to this file as well.", valueName: "file"))
    var envFile: String?

    func run() async throws {
        // Before anything is set up; when it is written, it is looked at again.
        if let envFile { try EnvironmentFile.check(envFile) }
        let command = self
        let ending = await withTerminationSignals {
            try await command.options.run { rig in
                try await command.stand(rig.surroundings)
            }
        }
        // To be told to go away is how it ends.
        if ending.signal == nil { try ending.result.get() }
    }

    private func stand(_ surroundings: LabVariables) async throws {
        let lines = surroundings.shellLines
        let file = try envFile.map { try EnvironmentFile(lines, at: $0) }
        defer { file?.remove() }
        StandardError.writeLine("\(HybridLab.programName): VIRTUAL RADIO: no proximity proof")
        let text = json ? surroundings.json.description : lines.joined(separator: "\n")
        guard StandardOutput.writeLine(Array(text.utf8)) else { throw CommandFailure.outputLost }
        StandardError.writeLine("\(HybridLab.programName): ready; Ctrl-C ends it")
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
}
