// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A search for the end of a request head that arrives in pieces of any size.
public struct RequestHeadReader: Sendable {
    private let maximumLength: Int
    /// Number of bytes that have already been searched for the end.
    private var searched = 0

    /// Creates a reader of heads of up to `maximumLength` bytes, including the empty line.
    public init(maximumLength: Int) {
        self.maximumLength = maximumLength
    }

    /// Returns the length of the head including its empty line; `nil` while it is incomplete.
    ///
    /// - Parameter bytes: All bytes received so far. Those after the head are the first frames, because a client need
    ///   not wait for the response.
    /// - Throws: ``UpgradeRefusal/headTooLarge``.
    public mutating func length(of bytes: RawSpan) throws(UpgradeRefusal) -> Int? {
        guard let length = end(of: bytes), length <= maximumLength else {
            guard bytes.byteCount < maximumLength else { throw .headTooLarge }
            return nil
        }
        return length
    }

    /// Returns the index after the first CR LF CR LF behind empty lines, and remembers how far it has searched.
    private mutating func end(of bytes: RawSpan) -> Int? {
        let first = max(RequestHead.emptyLines(before: bytes) + 3, searched)
        searched = max(first, bytes.byteCount)
        return bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return nil }
            // Steps from one line feed to the next.
            var index = first
            while index < bytes.count, let found = memchr(start + index, 0x0A, bytes.count - index) {
                index = UnsafeRawPointer(found) - start
                if bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A, bytes[index - 3] == 0x0D { return index + 1 }
                index += 1
            }
            return nil
        }
    }
}
