// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The progress of a ceremony for a caller that shows it itself; used by one thread.
final class ProgressLines {
    /// The sockets, of which the other end is the standard error of the ceremony.
    let ends: SocketEnds
    private var line: [UInt8] = []
    /// Maximum length of a line in bytes; longer ones are dropped.
    private static let maximumLength = 16 * 1024

    init(_ ends: SocketEnds) { self.ends = ends }

    /// Reads the available lines; returns `nil` at the end.
    func read() -> [String]? {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = recv(ends.own, &chunk, chunk.count, CInt(MSG_DONTWAIT))
        if count < 0, errno == EINTR || errno == EAGAIN { return [] }
        guard count > 0 else { return nil }
        var lines: [String] = []
        for byte in chunk[..<count] {
            if byte == UInt8(ascii: "\n") {
                if line.count <= Self.maximumLength { lines.append(String(decoding: line, as: UTF8.self)) }
                line.removeAll(keepingCapacity: true)
            } else if line.count <= Self.maximumLength {
                line.append(byte)
            }
        }
        return lines
    }
}
