// SPDX-License-Identifier: Apache-2.0

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

    /// Returns the index after the first CR LF CR LF, and remembers how far it has searched.
    private mutating func end(of bytes: RawSpan) -> Int? {
        // The index of a byte that may be the last line feed. Most bytes are neither CR nor LF: then none of the three
        // after them can be the last line feed either, because all four bytes would have to be one of these.
        var index = max(3, searched)
        while index < bytes.byteCount {
            switch bytes.byte(at: index) {
            case 0x0A:
                if bytes.byte(at: index - 1) == 0x0D, bytes.byte(at: index - 2) == 0x0A,
                    bytes.byte(at: index - 3) == 0x0D
                {
                    return index + 1
                }
                index += 2
            case 0x0D: index += 1
            default: index += 4
            }
        }
        // A later call continues at the same index, which no end before it can have.
        searched = index
        return nil
    }
}
