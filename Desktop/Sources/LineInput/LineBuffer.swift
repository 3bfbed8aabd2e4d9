// SPDX-License-Identifier: Apache-2.0

internal import Glibc
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

    /// Reads the available input of a descriptor; returns false at its end.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor.
    ///   - body: A closure that receives each line that is now complete, without its line feed.
    package func read(_ descriptor: CInt, _ body: (SecretBytes) -> Void) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { buffer in
            defer { SecretBytes.wipe(buffer) }
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN { return true }
            guard count > 0 else { return false }
            append(UnsafeRawBufferPointer(rebasing: buffer[..<count]), body)
            return true
        }
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
