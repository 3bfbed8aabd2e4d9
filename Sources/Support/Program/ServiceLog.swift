// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// An output for the lines of a service, which never waits for its reader.
///
/// A pipe whose reader is alive and does not read would stop every thread that writes to it. A line that does not fit is
/// lost. The rest of one that fits in part is kept, and the next lines are lost until it is written.
struct ServiceLog: Sendable {
    /// The number of bytes that a pipe takes at once if it is writable (PIPE_BUF).
    private static let pieceLength = 4096

    private let descriptor: CInt
    private let isSocket: Bool
    private let note: @Sendable (Int) -> String
    /// The rest of a line.
    private var rest: ArraySlice<UInt8> = []
    /// The number of lines that were lost since the last one that was written.
    private var lost = 0

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - stream: An open descriptor, which stays as it is: other processes may share it, and must be able to wait.
    ///   - note: Returns the line about lost lines, without its newline; receives their number.
    init(_ stream: CInt, _ note: @escaping @Sendable (Int) -> String) {
        self.note = note
        var status = stat()
        let kind = fstat(stream, &status) == 0 ? status.st_mode & S_IFMT : 0
        isSocket = kind == S_IFSOCK
        guard kind == S_IFIFO || isatty(stream) == 1 else {
            descriptor = stream
            return
        }
        // A pipe or terminal that is opened again has flags of its own. It may be another user's; poll(2) remains then.
        let again = open("/proc/self/fd/\(stream)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        descriptor = again < 0 ? stream : again
    }

    /// Writes a line, with its newline; returns false if it is lost.
    mutating func write(_ line: [UInt8]) -> Bool {
        guard flush() else {
            lost += 1
            return false
        }
        rest = line[...]
        if lost > 0 { rest = ArraySlice(note(lost).utf8) + [UInt8(ascii: "\n")] + rest }
        let length = rest.count
        _ = flush()
        guard rest.count < length else {
            rest = []
            lost += 1
            return false
        }
        lost = 0
        return true
    }

    /// Writes as much of the rest as fits; returns true if nothing is left.
    private mutating func flush() -> Bool {
        while !rest.isEmpty {
            let count = write(rest.prefix(Self.pieceLength))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private func write(_ piece: ArraySlice<UInt8>) -> Int {
        piece.withUnsafeBytes { bytes in
            if isSocket { return send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL)) }
            var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&polled, 1, 0) == 1 else { return 0 }
            return Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        }
    }
}
