// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCore

/// `hybrid-relay new-push-keys`: creates the key file of `serve --push-key-file`.
struct NewPushKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-push-keys",
        abstract: "Create the key file of serve --push-key-file.",
        discussion: """
            The file has the key that identifies the relay to push servers, and the key of its contact IDs. All nodes \
            of a cluster need the same file. An existing file is never changed.
            """
    )

    @Argument(help: ArgumentHelp("The file to create; only its owner and group can read it.", valueName: "file"))
    var file: String

    func run() throws {
        var content = PushKeys.newFile()
        defer { SecretBytes.wipe(&content) }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else {
            guard errno != EEXIST else {
                throw CommandFailure(
                    "\(file) already exists, and contact IDs may depend on it; choose another name",
                    status: .usage
                )
            }
            throw writeFailure
        }
        defer { close(descriptor) }
        guard write(descriptor, content, content.count) == content.count, fsync(descriptor) == 0 else {
            let failure = writeFailure
            unlink(file)
            throw failure
        }
    }

    private var writeFailure: CommandFailure {
        CommandFailure("cannot write \(file): \(String(cString: strerror(errno)))", status: .ioError)
    }
}
