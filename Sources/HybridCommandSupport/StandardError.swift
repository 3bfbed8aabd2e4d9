// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Standard error as a place for whole lines.
public enum StandardError {
    /// Writes one line by one call, so that lines of several threads do not mix.
    ///
    /// Text from outside may be part of it: see ``oneLine(_:)``. A failing write is ignored.
    public static func writeLine(_ text: String) { writeLine(utf8: Array(text.utf8)) }

    /// Writes one line, given in UTF-8, by one call; see ``writeLine(_:)``.
    static func writeLine(utf8 text: [UInt8]) {
        var line = isPlain(text) ? text : Array(oneLine(String(decoding: text, as: UTF8.self)).utf8)
        line.append(UInt8(ascii: "\n"))
        write(line, to: STDERR_FILENO)
    }

    /// Whether all of it is visible ASCII or spaces.
    ///
    /// Most text is; asking Unicode about each letter costs more than all else about a line.
    private static func isPlain(_ text: some Collection<UInt8>) -> Bool {
        text.withContiguousStorageIfAvailable { $0.allSatisfy { (0x20...0x7E).contains($0) } } == true
    }

    /// The text with every control, line-breaking and direction-changing character replaced by `?`.
    ///
    /// A terminal obeys such characters, so text of a peer could otherwise forge lines or rewrite the screen.
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
}

extension StandardError {
    /// Writes text of our own making as it is, such as a drawing of several lines.
    public static func writeText(_ text: String) { write(Array(text.utf8), to: STDERR_FILENO) }
}

/// Standard output as a place for results.
public enum StandardOutput {
    /// Writes text of our own making as it is, such as a table; `false` if not all of it was taken.
    public static func write(_ text: String) -> Bool { HybridCommandSupport.write(Array(text.utf8), to: STDOUT_FILENO) }

    /// Writes bytes and a newline as they are, for a program that reads them; `false` if not all of it was taken.
    @discardableResult
    public static func writeLine(_ bytes: [UInt8]) -> Bool {
        HybridCommandSupport.write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO)
    }
}

/// Writes everything, or says that it could not.
@discardableResult
private func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var written = 0
    while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        written += count
    }
    return true
}
