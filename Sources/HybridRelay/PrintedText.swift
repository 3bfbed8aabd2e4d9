// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives

extension StandardOutput {
    /// Prints a text and a newline.
    ///
    /// - Throws: ``CommandFailure`` if not all of it was taken: whoever reads it must not believe that this was all.
    static func tell(_ text: String) throws(CommandFailure) {
        guard writeLine(Array(text.utf8)) else { throw lost }
    }

    /// Refuses to work with a standard output that is closed: the next file would get its number, and what is told.
    static func requireOpen() throws(CommandFailure) {
        guard fcntl(STDOUT_FILENO, F_GETFD) >= 0 else { throw lost }
    }

    private static var lost: CommandFailure { CommandFailure("standard output cannot be written", status: .ioError) }
}
