// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCore

/// `hybrid-relay new-token`: creates a token with which a phone can open tunnels.
struct NewTokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-token",
        abstract: "Create a token for phones and add it to the file of serve --new-token-file.",
        discussion: """
            The token is printed once on standard output; the file gets its name and its hash. A running relay \
            reloads the file by itself.
            """
    )

    @Argument(help: "Name of its owner: letters, digits, dots, hyphens and underscores; shown in metrics.")
    var name: String

    @Option(help: ArgumentHelp("The token file; created if it is missing.", valueName: "file"))
    var file: String

    func run() throws {
        let made: (token: String, line: String)
        do throws(TunnelTokens.ParseError) {
            made = try TunnelTokens.make(name: name)
        } catch {
            throw CommandFailure("\(error)", status: .usage)
        }
        let before: [UInt8]
        do throws(FileReadError) {
            before = try readWholeFile(file, atMost: TunnelTokens.maximumFileLength)
        } catch {
            guard error == .missing else { throw CommandFailure("\(file): \(error.sentence)", status: .noInput) }
            before = []
        }
        // Other errors in the file are reported when it is parsed with the new line.
        if let tokens = try? TunnelTokens(parsing: before), tokens.names.contains(name) {
            throw CommandFailure(
                "\(file) already has a token for \(name); remove that line or choose another name",
                status: .usage
            )
        }
        let gap = before.isEmpty || before.last == UInt8(ascii: "\n") ? "" : "\n"
        let addition = Array("\(gap)\(made.line)\n".utf8)
        do throws(TunnelTokens.ParseError) {
            _ = try TunnelTokens(parsing: before + addition)
        } catch {
            throw CommandFailure("\(file) \(error)", status: .configuration)
        }
        // If stdout were closed, the token file would take descriptor 1 and the token would be written into it.
        try StandardOutput.requireOpen()
        // The line is appended by one write, so that existing lines never change.
        let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw writeFailure }
        defer { close(descriptor) }
        let count = write(descriptor, addition, addition.count)
        guard count == addition.count, fsync(descriptor) == 0 else {
            let failure = writeFailure
            if count > 0 { _ = undoWrite(count, descriptor) }
            throw failure
        }
        do throws(CommandFailure) {
            try StandardOutput.writeLine(made.token)
        } catch {
            throw CommandFailure(
                undoWrite(count, descriptor)
                    ? "the token could not be written to standard output; nothing was added to \(file), so try again"
                    : "the token could not be written to standard output; remove the line of \(name) from \(file) and "
                        + "try again",
                status: .ioError
            )
        }
    }

    /// Removes the bytes just written, unless another process has appended to the file since.
    private func undoWrite(_ count: Int, _ descriptor: Int32) -> Bool {
        let end = lseek(descriptor, 0, SEEK_CUR)
        var status = stat()
        guard end >= count, fstat(descriptor, &status) == 0, status.st_size == end else { return false }
        return ftruncate(descriptor, end - count) == 0 && fsync(descriptor) == 0
    }

    private var writeFailure: CommandFailure {
        CommandFailure("cannot write \(file): \(String(cString: strerror(errno)))", status: .ioError)
    }
}
