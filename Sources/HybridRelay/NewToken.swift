// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import RelayCore
internal import ServiceSupport

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
        let gap = before.isEmpty || before.last == UInt8(ascii: "\n") ? "" : "\n"
        let addition = Array("\(gap)\(made.line)\n".utf8)
        do throws(NewTokensError) {
            _ = try NewTokens(parsing: before + addition)
        } catch {
            throw CommandFailure("\(file) \(error)", status: .configuration)
        }
        // Added at the end by one write: what stands there is not touched, whatever happens.
        let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
        guard descriptor >= 0, write(descriptor, addition, addition.count) == addition.count, fsync(descriptor) == 0
        else {
            throw CommandFailure("cannot write \(file): \(String(cString: strerror(errno)))", status: .ioError)
        }
        close(descriptor)
        StandardOutput.writeLine(Array(made.token.utf8))
    }
}
