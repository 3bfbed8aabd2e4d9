// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridRelayCore

/// `hybrid-relay new-token`: makes a token with which a phone may open tunnels.
struct NewToken: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a token for phones, and note it in the file of serve --new-token-file.",
        discussion: """
            The token goes to standard output, once; the file gets its name and its hash. A relay that runs reads \
            the file again by itself.
            """
    )

    @Argument(help: "Whose it is: letters, digits, dots, dashes and underlines; shown in metrics.")
    var name: String

    @Option(help: ArgumentHelp("The file of tokens; made if it is not there.", valueName: "file"))
    var file: String

    func run() throws {
        let made: (token: String, line: String)
        do throws(NewTokens.MakingError) {
            made = try NewTokens.make(name: name)
        } catch {
            throw CommandFailure("\(error)", status: .usage)
        }
        let before: [UInt8]
        do throws(FileReadError) {
            before = try readWholeFile(file, atMost: NewTokens.maximumFileLength)
        } catch {
            guard error == .missing else { throw CommandFailure("\(file): \(error.sentence)", status: .noInput) }
            before = []
        }
        try refuseTaken(before)
        let gap = before.isEmpty || before.last == UInt8(ascii: "\n") ? "" : "\n"
        let addition = Array("\(gap)\(made.line)\n".utf8)
        do throws(NewTokensError) {
            _ = try NewTokens(parsing: before + addition)
        } catch {
            throw CommandFailure("\(file) \(error)", status: .configuration)
        }
        // Or the file would be opened under its number, and the token go there.
        try StandardOutput.requireOpen()
        // Added at the end by one write: what stands there is not touched, whatever happens.
        let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw unwritten }
        defer { close(descriptor) }
        let count = write(descriptor, addition, addition.count)
        guard count == addition.count, fsync(descriptor) == 0 else {
            let failure = unwritten
            if count > 0 { _ = takeBack(count, descriptor) }
            throw failure
        }
        guard StandardOutput.writeLine(Array(made.token.utf8)) else {
            throw CommandFailure(
                takeBack(count, descriptor)
                    ? "the token could not be shown on standard output; nothing was added to \(file), so try again"
                    : "the token could not be shown on standard output; take the line of \(name) out of \(file) and try "
                        + "again",
                status: .ioError
            )
        }
    }

    /// - Throws: if the name has a token; what else may be wrong with the file shows when it is read with the new line.
    private func refuseTaken(_ content: [UInt8]) throws(CommandFailure) {
        guard let tokens = try? NewTokens(parsing: content), tokens.names.contains(name) else { return }
        throw CommandFailure(
            "\(file) has a token for \(name) already; take that line out or choose another name",
            status: .usage
        )
    }

    /// Cuts off what was just written, unless somebody has written behind it.
    private func takeBack(_ count: Int, _ descriptor: Int32) -> Bool {
        let end = lseek(descriptor, 0, SEEK_CUR)
        var status = stat()
        guard end >= count, fstat(descriptor, &status) == 0, status.st_size == end else { return false }
        return ftruncate(descriptor, end - count) == 0 && fsync(descriptor) == 0
    }

    private var unwritten: CommandFailure {
        CommandFailure("cannot write \(file): \(String(cString: strerror(errno)))", status: .ioError)
    }
}
