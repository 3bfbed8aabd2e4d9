// SPDX-License-Identifier: Apache-2.0

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
        collected.writeImmutableBuffer(bytes)
        guard let length = endOfHead(), length <= maximumLength else {
            guard collected.readableBytes < maximumLength else { throw .headTooLarge }
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
            guard bytes.count >= 4 else { return nil }
            var index = from
            while index + 3 < bytes.count {
                if bytes[index + 3] == 0x0A, bytes[index + 2] == 0x0D, bytes[index + 1] == 0x0A, bytes[index] == 0x0D {
                    return index + 4
                }
                index += 1
            }
            return nil
        }
    }
}
