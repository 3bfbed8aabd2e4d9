// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives

extension CommandFailure {
    /// Whoever reads standard output has not got all of it.
    static let outputLost = CommandFailure("standard output can't be written to", status: .ioError)
}

extension StandardOutput {
    /// Refuses to work with a standard output that is closed: the next file or socket would get its number, and what is
    /// told.
    static func requireOpen() throws(CommandFailure) {
        guard fcntl(STDOUT_FILENO, F_GETFD) >= 0 else { throw .outputLost }
    }
}
