// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridPrimitives

/// A reader of a program's lines, whose memory is wiped because any line may contain the PIN.
package final class LineReader {
    private let maximum: Int
    private let storage: SecretBytes
    private var count = 0

    /// Creates a reader of lines of at most `maximum` bytes.
    package init(maximum: Int) {
        self.maximum = maximum
        storage = SecretBytes(count: maximum + 1)
    }

    /// Calls `body` with the next complete line, without its line end, and removes the line.
    ///
    /// - Returns: The result of `body`; `nil` if more bytes must be read first.
    /// - Throws: ``PinentryError/protocolViolation`` if the line is too long.
    package func next<Value>(_ body: (UnsafeRawBufferPointer) -> Value) throws(PinentryError) -> Value? {
        let buffer = storage.memory
        guard let end = buffer[..<count].firstIndex(of: UInt8(ascii: "\n")) else {
            if count > maximum { throw .protocolViolation }
            return nil
        }
        let hasReturn = end > 0 && buffer[end - 1] == UInt8(ascii: "\r")
        let value = body(UnsafeRawBufferPointer(rebasing: buffer[..<(hasReturn ? end - 1 : end)]))
        let rest = count - end - 1
        if let base = buffer.baseAddress { memmove(base, base + end + 1, rest) }
        SecretBytes.wipe(UnsafeMutableRawBufferPointer(rebasing: buffer[rest..<count]))
        count = rest
        return value
    }

    /// Reads the available bytes; call it when `poll` reports the descriptor as readable.
    ///
    /// - Returns: False at the end of the output.
    package func fill(from descriptor: CInt) throws(PinentryError) -> Bool {
        let room = storage.memory[count...]
        guard !room.isEmpty else { throw .protocolViolation }
        let length = read(descriptor, UnsafeMutableRawBufferPointer(rebasing: room).baseAddress, room.count)
        if length < 0, errno == EINTR || errno == EAGAIN { return true }
        guard length > 0 else { return false }
        count += length
        return true
    }
}
