// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives
private import HybridThreads
private import Synchronization

/// The descriptors 0, 1 and 2, with which every program starts.
public enum StandardStreams {
    /// Opens substitutes for the descriptors that are closed, and ignores SIGPIPE; must be called before any other input and output.
    ///
    /// Otherwise, the next opened file or connection would get such a number and receive output that is meant for
    /// users. Substitutes for input cannot be read and those for output cannot be written, so a closed stream still
    /// fails. A write without a reader fails, too, and does not end the process: a service must survive the program
    /// that reads its log.
    public static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            // open(2) returns the lowest free number, which is this one.
            _ = open("/dev/null", mode)
        }
    }
}

/// Standard input.
package enum StandardInput {
    /// Reads one line without its line feed, byte by byte, so that nothing after the line is consumed.
    ///
    /// - Parameter limit: Maximum number of bytes; the rest of a longer line stays unread.
    /// - Returns: The line; `nil` at the end of the input.
    package static func line(atMost limit: Int) -> [UInt8]? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < limit {
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return line.isEmpty ? nil : line }
            if byte == UInt8(ascii: "\n") { break }
            line.append(byte)
        }
        return line
    }

    /// Returns the next line that is not blank; `nil` at the end of the input.
    package static func textLine(atMost limit: Int) -> [UInt8]? {
        while let line = line(atMost: limit) {
            if line.contains(where: { $0 > 0x20 }) { return line }
        }
        return nil
    }
}

/// Standard output, for results.
public enum StandardOutput {
    /// Writes text unchanged; must not be used for text from a peer.
    public static func write(_ text: String) throws(CommandFailure) { try write(Array(text.utf8)) }

    /// Writes text unchanged, and a newline; must not be used for text from a peer.
    public static func writeLine(_ text: String) throws(CommandFailure) { try writeLine(Array(text.utf8)) }

    /// Writes bytes unchanged, and a newline.
    public static func writeLine(_ bytes: [UInt8]) throws(CommandFailure) {
        try write(bytes + [UInt8(ascii: "\n")])
    }

    /// Checks that standard output is writable, for commands that must not do their work without it.
    public static func requireOpen() throws(CommandFailure) {
        let flags = fcntl(STDOUT_FILENO, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE != O_RDONLY else { throw .outputNotWritten }
    }

    /// Ends the output for its readers; later output is discarded.
    package static func finish() {
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard null >= 0 else { return }
        dup2(null, STDOUT_FILENO)
        close(null)
    }

    private static func write(_ bytes: [UInt8]) throws(CommandFailure) {
        guard writeAll(bytes, to: STDOUT_FILENO) else { throw .outputNotWritten }
    }
}

extension CommandFailure {
    /// The failure if standard output is closed, its reader is gone, or its file system is full.
    public static let outputNotWritten = CommandFailure(
        "standard output can't be written; check the program that reads it, or free some space",
        status: .ioError
    )
}

/// Standard error, for whole lines; a line that cannot be written is counted and dropped.
public enum StandardError {
    private static let lost = Atomic<Int>(0)
    /// The output of a service, which must not wait for its reader.
    private static let log = Locked<ServiceLog?>(nil)

    /// Makes all further lines those of a service, which are lost instead of waiting for what reads them.
    ///
    /// - Parameter program: The program's name, at the beginning of the line about lost lines.
    public static func neverBlock(program: String) { neverBlock { "\(program): \(lostLinesText($0))" } }

    /// Makes all further lines those of a service, which are lost instead of waiting for what reads them.
    ///
    /// - Parameter note: Returns the line about lost lines, which is written before the next one; receives their number.
    package static func neverBlock(_ note: @escaping @Sendable (Int) -> String) {
        log.withLock { $0 = ServiceLog(STDERR_FILENO, note) }
    }

    /// Returns the sentence about lost lines.
    package static func lostLinesText(_ count: Int) -> String {
        "\(count) \(count == 1 ? "line" : "lines") of this log were lost because nothing read them"
    }

    /// The number of lines that could not be written, for example because nothing reads them or the disk is full.
    package static var lostLines: Int { lost.load(ordering: .relaxed) }

    /// Writes one line with one call, so that lines of several threads do not mix.
    ///
    /// It may contain text from a peer, which ``oneLine(_:)`` makes safe.
    public static func writeLine(_ text: String) { writeLine(utf8: Array(text.utf8)) }

    /// Writes one line, given in UTF-8, with one call; see ``writeLine(_:)``.
    package static func writeLine(utf8 text: [UInt8]) {
        var line = isPlain(text) ? text : Array(oneLine(String(decoding: text, as: UTF8.self)).utf8)
        line.append(UInt8(ascii: "\n"))
        let isWritten = log.withLock { $0?.write(line) } ?? writeAll(line, to: STDERR_FILENO)
        if !isWritten { lost.add(1, ordering: .relaxed) }
    }

    /// Writes text unchanged, such as a drawing of several lines; must not be used for text from a peer.
    public static func writeText(_ text: String) { writeAll(Array(text.utf8), to: STDERR_FILENO) }

    /// Returns the text with every control, line-breaking and direction-changing character replaced by `?`.
    ///
    /// Terminals interpret such characters, so text from a peer could otherwise forge lines or rewrite the screen.
    public static func oneLine(_ text: String) -> String {
        if isPlain(text.utf8) { return text }
        var safe = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
                safe.append("?")
            default: safe.append(scalar)
            }
        }
        return String(safe)
    }

    /// Returns true if the text consists of visible ASCII characters and spaces only, as most text does.
    ///
    /// Such text needs no lookup of Unicode properties, which is slow.
    private static func isPlain(_ text: some Collection<UInt8>) -> Bool {
        text.withContiguousStorageIfAvailable { $0.allSatisfy { (0x20...0x7E).contains($0) } } == true
    }
}

/// Writes all bytes; returns false if a write fails.
@discardableResult
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var written = 0
    while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        written += count
    }
    return true
}
