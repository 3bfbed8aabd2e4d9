// SPDX-License-Identifier: Apache-2.0

/// Choices made by an input: each consumes bytes from its front, and is zero after its end.
package struct Choices {
    private var rest: ArraySlice<UInt8>

    package init(_ input: [UInt8]) { rest = input[...] }

    /// True if all bytes are consumed.
    package var isEmpty: Bool { rest.isEmpty }

    package mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    package mutating func flag() -> Bool { byte() & 1 == 1 }

    /// Returns a number from 0 to `bound` - 1, from two bytes if one is not enough.
    package mutating func number(below bound: Int) -> Int {
        let number = bound <= 256 ? Int(byte()) : Int(byte()) << 8 | Int(byte())
        return number % max(bound, 1)
    }

    /// Returns an element of a list that is not empty.
    package mutating func pick<Value>(_ list: [Value]) -> Value { list[number(below: list.count)] }

    /// Returns `count` bytes, or all that are left.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Returns all bytes that are left.
    package mutating func remaining() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}

extension [UInt8] {
    /// Returns pieces of this length, as received from a network; the last may be shorter.
    package func pieces(of size: Int) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: count, by: Swift.max(size, 1)).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
