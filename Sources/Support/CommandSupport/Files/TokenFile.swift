// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives
package import HybridProgram

/// A file with the relay's token on its first line, which ends with LF, CR LF or the end of the file.
///
/// The caller defines the form of a token. A pipe is accepted, too, so that the token need not be stored in a file:
/// `--tunnel-token-file <(pass show relay)`.
package enum TokenFile {
    /// Reads the token on the first line, and no more bytes than the longest token and its line end have.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - longest: The length of the longest token, in bytes.
    ///   - token: Returns the token on a line without its line end, or `nil`. The bytes are wiped afterwards.
    /// - Throws: ``CommandFailure`` if the file can't be read, is empty, or has no token on its first line.
    package static func read<Token>(
        _ path: String,
        longest: Int,
        _ token: (UnsafeRawBufferPointer) -> Token?
    ) throws(CommandFailure) -> Token {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        defer { close(descriptor) }
        // The token, and the two characters that may end its line.
        let secret = SecretBytes(count: longest + 2)
        let buffer = secret.memory
        var count = 0
        var ending: Int?
        while ending == nil, count < buffer.count {
            let new = Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
            if new < 0, errno == EINTR { continue }
            guard new >= 0 else { throw unreadable(path, errno) }
            guard new > 0 else { break }
            ending = buffer[count..<count + new].firstIndex(of: UInt8(ascii: "\n"))
            count += new
        }
        guard count > 0 else {
            throw CommandFailure("\(path) is empty; it should hold the relay's token", status: .noInput)
        }
        var line = buffer[..<(ending ?? count)]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        let value = withExtendedLifetime(secret) { token(UnsafeRawBufferPointer(rebasing: line)) }
        guard let value else {
            throw CommandFailure("\(path) does not begin with a token on a line of its own", status: .dataError)
        }
        return value
    }

    private static func unreadable(_ path: String, _ number: Int32) -> CommandFailure {
        CommandFailure("\(path) can't be read: \(String(cString: strerror(number)))", status: .noInput)
    }
}
