// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// What a person typed, in memory that is wiped on release and never printed.
///
/// It holds the bytes as they came, UTF-8 in practice, 0 to ``maximumLength`` of them.
public final class PinentrySecret: @unchecked Sendable {
    // SAFETY of @unchecked: `storage` and `count` are only changed by `append` and `decodePercent`, which are
    // called on the one thread that reads the answer, before the secret is given to anybody else.

    /// The longest that is taken, in bytes.
    public static let maximumLength = 2048

    private let storage: UnsafeMutableRawBufferPointer
    /// How many bytes there are.
    public private(set) var count = 0

    init() {
        storage = .allocate(byteCount: Self.maximumLength, alignment: 16)
        // Best effort: an unprivileged process may lock little memory.
        if let base = storage.baseAddress { mlock(base, storage.count) }
    }

    deinit {
        if let base = storage.baseAddress {
            explicit_bzero(base, storage.count)
            munlock(base, storage.count)
        }
        storage.deallocate()
    }

    /// Lends the bytes; they must not be copied to memory that nobody wipes.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(rebasing: storage[..<count]))
    }

    /// Whether two secrets are the same; takes as long for any two of one length.
    public func matches(_ other: PinentrySecret) -> Bool {
        guard count == other.count else { return false }
        var difference: UInt8 = 0
        for index in 0..<count { difference |= storage[index] ^ other.storage[index] }
        return difference == 0
    }

    /// Adds bytes as they came; `false`, and no change, when they are too many.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard count + bytes.count <= storage.count else { return false }
        UnsafeMutableRawBufferPointer(rebasing: storage[count...]).copyMemory(from: bytes)
        count += bytes.count
        return true
    }

    /// Replaces every `%XX` by its byte, in place; `false` when a percent sign stands without two digits.
    func decodePercent() -> Bool {
        var (from, to) = (0, 0)
        while from < count {
            if storage[from] == UInt8(ascii: "%") {
                guard from + 2 < count, let high = Self.digit(storage[from + 1]),
                    let low = Self.digit(storage[from + 2])
                else { return false }
                storage[to] = high << 4 | low
                from += 3
            } else {
                storage[to] = storage[from]
                from += 1
            }
            to += 1
        }
        if let base = storage.baseAddress { explicit_bzero(base + to, count - to) }
        count = to
        return true
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension PinentrySecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "PinentrySecret(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
