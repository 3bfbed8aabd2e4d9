// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives

/// A buffer that splits input into lines of bounded length; its memory is wiped because lines may contain secrets.
package final class LineBuffer {
    /// Maximum length of a line in bytes, without its line feed; longer lines are skipped.
    package let maximumLength: Int

    private let storage: SecretBytes
    private var count = 0
    private var isSkipping = false

    /// Creates an empty buffer.
    ///
    /// - Parameter maximumLength: Maximum length of a line in bytes, without its line feed.
    package init(maximumLength: Int = 8192) {
        self.maximumLength = maximumLength
        storage = SecretBytes(count: maximumLength)
    }

    /// Appends input.
    ///
    /// - Parameters:
    ///   - input: The next bytes; they may end anywhere in a line.
    ///   - body: A closure that receives each line that is now complete, without its line feed.
    package func append(_ input: UnsafeRawBufferPointer, _ body: (SecretBytes) -> Void) {
        for byte in input {
            if byte == UInt8(ascii: "\n") {
                if !isSkipping { body(takeLine()) }
                (count, isSkipping) = (0, false)
            } else if isSkipping {
                continue
            } else if count < maximumLength {
                storage.memory[count] = byte
                count += 1
            } else {
                SecretBytes.wipe(storage.memory)
                isSkipping = true
            }
        }
    }

    /// Returns a copy of the line and wipes the buffer.
    private func takeLine() -> SecretBytes {
        let line = UnsafeMutableRawBufferPointer(rebasing: storage.memory[..<count])
        defer { SecretBytes.wipe(line) }
        return SecretBytes(copying: UnsafeRawBufferPointer(line))
    }
}
