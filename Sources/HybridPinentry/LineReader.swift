// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Lines from the program, in memory that is wiped, because any of them may hold the PIN.
final class LineReader {
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: AssuanLine.maximumReceived + 1,
        alignment: 16
    )
    private var count = 0

    deinit {
        if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) }
        buffer.deallocate()
    }

    /// Why there is no line.
    enum Failure: Error {
        case tooLong
        case ended
    }

    /// Lends the next whole line without its line end, and forgets it; `nil` when more must be read first.
    func next<Value>(_ body: (UnsafeRawBufferPointer) -> Value) throws(Failure) -> Value? {
        guard let end = buffer[..<count].firstIndex(of: UInt8(ascii: "\n")) else {
            if count > AssuanLine.maximumReceived { throw .tooLong }
            return nil
        }
        let hasReturn = end > 0 && buffer[end - 1] == UInt8(ascii: "\r")
        let value = body(UnsafeRawBufferPointer(rebasing: buffer[..<(hasReturn ? end - 1 : end)]))
        let rest = count - end - 1
        if let base = buffer.baseAddress {
            memmove(base, base + end + 1, rest)
            explicit_bzero(base + rest, count - rest)
        }
        count = rest
        return value
    }

    /// Reads what is there; call it when `poll` says so.
    func fill(from descriptor: Int32) throws(Failure) {
        guard let base = buffer.baseAddress, count < buffer.count else { throw .tooLong }
        let length = read(descriptor, base + count, buffer.count - count)
        if length < 0, errno == EINTR || errno == EAGAIN { return }
        guard length > 0 else { throw .ended }
        count += length
    }
}
