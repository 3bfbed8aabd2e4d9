// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// The command `hybrid-lab up`, which runs a lab environment until it receives a signal.
struct UpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Set up a virtual radio and a relay for browsers and phones that are started separately.",
        discussion: """
            Prints the settings that they need as lines for a shell, or with --json as one JSON object on one line, and \
            runs until Ctrl-C or SIGTERM. With --env-file, the lines are also in a file, which is created when everything \
            is ready and removed at the end. An existing file is kept, unless a lab that was killed has left it.
            """
    )

    @OptionGroup(title: "The lab environment")
    var options: LabEnvironmentOptions

    @Flag(help: "Print the settings as JSON.")
    var json = false

    @Option(help: ArgumentHelp("Also write the lines for a shell to this file.", valueName: "file"))
    var envFile: String?

    func run() async throws {
        // This check reports the error before the setup; the check is repeated when the file is written.
        if let envFile { try LabEnvironmentFile.check(envFile) }
        let command = self
        let ending = await withTerminationSignals { try await command.options.run(command.keep) }
        // A signal is the normal end.
        if ending.signal == nil { try ending.result.get() }
    }

    private func keep(_ environment: LabEnvironment) async throws {
        let lines = environment.shellLines
        let file = try envFile.map { try LabEnvironmentFile(lines, at: $0) }
        defer { file?.remove() }
        StandardError.writeLine("\(HybridLab.programName): VIRTUAL RADIO: no proximity proof")
        let text = json ? environment.json.description : lines.joined(separator: "\n")
        try StandardOutput.writeLine(text)
        StandardError.writeLine("\(HybridLab.programName): ready; Ctrl-C ends it")
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
}
