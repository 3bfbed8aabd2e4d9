// SPDX-License-Identifier: Apache-2.0

/// Decisions that an input makes: each takes bytes from its front, and is zero once they are used up.
struct Choices {
    private var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) { rest = input[...] }

    /// Whether all bytes are used up.
    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// From 0 to `bound` - 1; two bytes where one can't reach all of them.
    mutating func number(below bound: Int) -> Int {
        let number = bound <= 256 ? Int(byte()) : Int(byte()) << 8 | Int(byte())
        return number % max(bound, 1)
    }

    /// One of a list that is not empty.
    mutating func pick<Value>(_ list: [Value]) -> Value { list[number(below: list.count)] }

    /// So many bytes, or all there are.
    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// All that is left.
    mutating func remaining() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}

extension [UInt8] {
    /// The pieces of this length in which bytes may come from a network; the last may be shorter.
    func pieces(of size: Int) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: count, by: Swift.max(size, 1)).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
