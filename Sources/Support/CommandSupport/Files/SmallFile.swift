// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The reason why a small file was not read.
package enum FileReadError: Error, Hashable, Sendable {
    /// There is no such file.
    case missing
    /// The file has more bytes than allowed.
    case tooLarge
    /// The path names a directory, a pipe or a device.
    case notAFile
    /// A system call failed with this `errno`.
    case failed(errorNumber: Int32)

    /// The cause, which follows the path and a colon.
    package var sentence: String {
        switch self {
        case .missing: "there is no such file"
        case .tooLarge: "the file is too large"
        case .notAFile: "it is not a regular file"
        case .failed(let number): "it cannot be read: \(String(cString: strerror(number)))"
        }
    }
}

/// Returns the contents of a regular file of at most `limit` bytes.
///
/// It never blocks, because pipes and devices are rejected, not read.
package func readWholeFile(_ path: String, atMost limit: Int) throws(FileReadError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw errno == ENOENT ? .missing : .failed(errorNumber: errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .failed(errorNumber: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
    return try readToEnd(of: descriptor, atMost: limit)
}

/// Returns the contents of a regular file of at most `limit` bytes, or of standard input if `path` is a dash.
package func readWholeFileOrStandardInput(_ path: String, atMost limit: Int) throws(FileReadError) -> [UInt8] {
    path == "-" ? try readToEnd(of: STDIN_FILENO, atMost: limit) : try readWholeFile(path, atMost: limit)
}

private func readToEnd(of descriptor: Int32, atMost limit: Int) throws(FileReadError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = Glibc.read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw .failed(errorNumber: errno) }
        if count == 0 { return bytes }
        bytes += chunk[..<count]
        guard bytes.count <= limit else { throw .tooLarge }
    }
}
