// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The text of a code, in memory that is wiped on release and never printed: it may hold a secret.
public final class ScannedText: Sendable {
    private let storage: TextMemory

    /// Copies the bytes.
    init(_ bytes: UnsafeRawBufferPointer) {
        storage = TextMemory(bytes)
    }

    /// Lends the bytes, in UTF-8 if the code's maker was kind; copies of them are not wiped.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(storage.bytes))
    }

    /// Whether it begins with these ASCII characters, in either case.
    public func begins(with start: StaticString) -> Bool {
        withBytes { bytes in
            start.withUTF8Buffer { start in
                bytes.count >= start.count && zip(start, bytes).allSatisfy { Self.lowerCase($0) == Self.lowerCase($1) }
            }
        }
    }

    /// Whether two codes say the same; takes as long for any two of one length.
    public func matches(_ other: ScannedText) -> Bool {
        withBytes { mine in
            other.withBytes { others in
                guard mine.count == others.count else { return false }
                var difference: UInt8 = 0
                for (one, another) in zip(mine, others) { difference |= one ^ another }
                return difference == 0
            }
        }
    }

    private static func lowerCase(_ character: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(character) ? character | 0x20 : character
    }
}

extension ScannedText: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "ScannedText(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Bytes that are wiped when they are given back.
private final class TextMemory: @unchecked Sendable {
    // SAFETY of @unchecked: written by `init` alone.
    let bytes: UnsafeMutableRawBufferPointer

    init(_ source: UnsafeRawBufferPointer) {
        bytes = .allocate(byteCount: source.count, alignment: 1)
        bytes.copyMemory(from: source)
    }

    deinit {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
        bytes.deallocate()
    }
}
