// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension BearerToken {
    /// Why a file gives no token.
    public enum FileFailure: Error, Hashable, Sendable {
        /// It can't be opened or read; the text is the system's.
        case unreadable(String)
        /// Nothing is in it.
        case empty
        /// Its first line is no token.
        case malformed
    }

    /// Reads the first line of a file, which may end as text files of any system do.
    ///
    /// No more of the file is read than a line with the longest token has.
    public init(file path: String) throws(FileFailure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .unreadable(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        // The token, and the two characters that may end its line.
        var buffer = [UInt8](repeating: 0, count: Self.maximumLength + 2)
        defer { buffer.withUnsafeMutableBytes { SecretBytes.wipe($0) } }
        var count = 0
        var ending: Int?
        while ending == nil, count < buffer.count {
            let new = buffer.withUnsafeMutableBytes { bytes in
                read(descriptor, bytes.baseAddress.map { $0 + count }, bytes.count - count)
            }
            if new < 0, errno == EINTR { continue }
            guard new >= 0 else { throw .unreadable(String(cString: strerror(errno))) }
            guard new > 0 else { break }
            ending = buffer[count..<count + new].firstIndex(of: UInt8(ascii: "\n"))
            count += new
        }
        guard count > 0 else { throw .empty }
        var line = buffer[..<(ending ?? count)]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard let token = BearerToken(line) else { throw .malformed }
        self = token
    }
}
