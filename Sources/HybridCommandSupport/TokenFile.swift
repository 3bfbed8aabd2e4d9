// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives

/// The file that holds the relay's token on its first line, which may end as text files of any system do.
///
/// What is a token, and what it becomes, is the caller's to say: this is how a program reads it and what it says when
/// it can't. A pipe serves as well, so that no file need hold the token: `--tunnel-token-file <(pass show relay)`.
public enum TokenFile {
    /// Reads the first line, and no more of the file than a line with the longest token has.
    ///
    /// - Parameters:
    ///   - path: where it is.
    ///   - longest: the length of the longest token, in bytes.
    ///   - token: makes the token of the line, without its end; `nil` if it is none. The bytes are wiped afterwards.
    /// - Throws: what is wrong with the file: it can't be read, is empty, or has no token on its first line.
    public static func read<Token>(
        _ path: String,
        longest: Int,
        _ token: (UnsafeRawBufferPointer) -> Token?
    ) throws(CommandFailure) -> Token {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        defer { close(descriptor) }
        // The token, and the two characters that may end its line.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: longest + 2, alignment: 1)
        defer {
            if let start = buffer.baseAddress { explicit_bzero(start, buffer.count) }
            buffer.deallocate()
        }
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
        guard let token = token(UnsafeRawBufferPointer(rebasing: line)) else {
            throw CommandFailure("\(path) does not begin with a token on a line of its own", status: .dataError)
        }
        return token
    }

    private static func unreadable(_ path: String, _ number: Int32) -> CommandFailure {
        CommandFailure("\(path) can't be read: \(String(cString: strerror(number)))", status: .noInput)
    }
}
