// SPDX-License-Identifier: Apache-2.0

private import Glibc
public import NIOCore

/// A reader that collects a request head from pieces of any size, and keeps the bytes after it.
public struct RequestHeadReader: Sendable {
    private let maximumLength: Int
    private var collected = ByteBuffer()
    /// Number of bytes of `collected` that have already been searched for the end.
    private var searched = 0

    /// Creates a reader of heads of up to `maximumLength` bytes, including the empty line.
    public init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    /// Appends the next bytes.
    ///
    /// - Returns: The request and the bytes after it, or `nil` while the head is incomplete. The bytes after it are the
    ///   first frames, because a client need not wait for the response.
    public mutating func receive(
        _ bytes: ByteBuffer
    ) throws(UpgradeRefusal) -> (request: UpgradeRequest, rest: ByteBuffer)? {
        let isFirst = collected.readableBytes == 0
        if isFirst {
            collected = bytes
        } else {
            collected.writeImmutableBuffer(bytes)
        }
        guard let length = endOfHead(), length <= maximumLength else {
            guard collected.readableBytes < maximumLength else { throw .headTooLarge }
            // Most heads arrive in one piece and are not copied. An incomplete head is copied, so that it does not keep
            // the socket's buffer.
            if isFirst { collected = ByteBuffer(bytes: bytes.readableBytesView) }
            return nil
        }
        guard let head = collected.readBytes(length: length) else { return nil }
        let request = try UpgradeRequest(parsing: head)
        let rest = collected
        collected = ByteBuffer()
        return (request, rest)
    }

    /// Returns the length of the head including its empty line; `nil` while it is incomplete.
    private mutating func endOfHead() -> Int? {
        let from = max(0, searched - 3)
        searched = collected.readableBytes
        return collected.withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress else { return nil }
            // Steps from one line feed to the next.
            var index = from
            while index < bytes.count, let found = memchr(start + index, 0x0A, bytes.count - index) {
                index = UnsafeRawPointer(found) - start
                if index >= 3, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A, bytes[index - 3] == 0x0D {
                    return index + 1
                }
                index += 1
            }
            return nil
        }
    }
}
