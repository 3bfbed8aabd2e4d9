// SPDX-License-Identifier: Apache-2.0

private import Glibc
public import NIOCore

/// Collects a request head from whatever pieces it comes in, and keeps what follows it.
public struct RequestHeadReader: Sendable {
    private let maximumLength: Int
    private var collected = ByteBuffer()
    /// So many bytes of `collected` were searched for the end before.
    private var searched = 0

    /// A reader of heads of up to `maximumLength` bytes, the empty line included.
    public init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    /// Takes the next bytes; answers with the request and what came behind it, or `nil` if the head goes on.
    ///
    /// What comes behind the head is the end's first frames: a client need not wait for the response.
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
            // Most heads come in one piece, which is not copied. One that goes on must not keep the socket's buffer.
            if isFirst { collected = ByteBuffer(bytes: bytes.readableBytesView) }
            return nil
        }
        guard let head = collected.readBytes(length: length) else { return nil }
        let request = try UpgradeRequest(parsing: head)
        let rest = collected
        collected = ByteBuffer()
        return (request, rest)
    }

    /// Length of the head with its empty line, once that is there.
    private mutating func endOfHead() -> Int? {
        let from = max(0, searched - 3)
        searched = collected.readableBytes
        return collected.withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress else { return nil }
            // From the end of one line to that of the next.
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
