// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import ServiceSupport

/// `hybrid-lab up`: the table stands until it is told to go away.
struct Up: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Set up a virtual radio and a relay for browsers and phones that are started beside it.",
        discussion: """
            Prints what they need as lines for a shell, or with --json as one JSON object on one line, and stays until \
            it gets Ctrl-C or SIGTERM. With --env-file the lines stand in a file, which is there when all is ready and \
            gone when it is over.
            """
    )

    @OptionGroup(title: "The table")
    var options: RigOptions

    @Flag(help: "Print what programs need as JSON.")
    var json = false

    @Option(help: ArgumentHelp("Write the lines for a shell to this file as well.", valueName: "file"))
    var envFile: String?

    func run() async throws {
        let command = self
        let ending = await withTerminationSignals {
            try await command.options.run { rig in
                try await command.stand(rig.surroundings)
            }
        }
        // To be told to go away is how it ends.
        if ending.signal == nil { try ending.result.get() }
    }

    private func stand(_ surroundings: Surroundings) async throws {
        let lines = surroundings.shellLines
        if let envFile { try EnvironmentLines.write(lines, to: envFile) }
        defer { if let envFile { unlink(envFile) } }
        StandardError.writeLine("\(HybridLab.programName): VIRTUAL RADIO: no proximity proof")
        let text = json ? surroundings.json.description : lines.joined(separator: "\n")
        guard StandardOutput.writeLine(Array(text.utf8)) else {
            throw CommandFailure("standard output can't be written to", status: .ioError)
        }
        StandardError.writeLine("\(HybridLab.programName): ready; Ctrl-C ends it")
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
}

/// The file of `--env-file`.
private enum EnvironmentLines {
    /// Written beside its place and then moved there, so that whoever waits for it never reads half of it.
    static func write(_ lines: [String], to path: String) throws(CommandFailure) {
        let draft = path + ".\(getpid()).new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count, rename(draft, path) == 0 else {
            let refusal = failure(path)
            unlink(draft)
            throw refusal
        }
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure("\(path) can't be written: \(String(cString: strerror(errno)))", status: .ioError)
    }

    private static func write(_ descriptor: Int32, _ bytes: [UInt8], _ count: Int) -> Int {
        Glibc.write(descriptor, bytes, count)
    }
}
