// SPDX-License-Identifier: Apache-2.0

/// A splitter of a helper's output into lines of bounded length.
package struct OutputLines: Sendable {
    /// Maximum length of a line on standard error in bytes.
    package static let diagnosticLimit = 65_536
    /// Maximum length of a line on standard output in bytes: a vault may hold thousands of passkeys.
    package static let resultLimit = 16 << 20

    private let limit: Int
    private var line: [UInt8] = []
    private var isTooLong = false

    /// Creates an empty splitter.
    ///
    /// - Parameter limit: Maximum length of a line in bytes, without its line feed.
    package init(limit: Int) { self.limit = limit }

    /// Appends output; returns the lines that are complete now, without their line feeds.
    ///
    /// A line that is too long becomes an empty one, which no reader takes for a result.
    package mutating func append(_ output: some Sequence<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for byte in output {
            if byte == UInt8(ascii: "\n") {
                lines.append(isTooLong ? [] : line)
                (line, isTooLong) = ([], false)
            } else if line.count < limit, !isTooLong {
                line.append(byte)
            } else {
                (line, isTooLong) = ([], true)
            }
        }
        return lines
    }

    /// Returns the last line, if the output ended without a line feed.
    package mutating func finish() -> [UInt8]? {
        defer { (line, isTooLong) = ([], false) }
        return line.isEmpty || isTooLong ? nil : line
    }
}
