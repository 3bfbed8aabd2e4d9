// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Memory of a fixed size for a secret; wiped on release and never printed.
///
/// Only the owner writes to the memory. Once an instance has been shared, it must not be written to.
public final class SecretBytes: SecretMaterial {
    /// The bytes of the secret.
    public let memory: UnsafeMutableRawBufferPointer

    /// Creates memory of `count` zero bytes.
    public init(count: Int) {
        memory = .allocate(byteCount: count, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
    }

    /// Creates a copy of `bytes`.
    public convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count)
        memory.copyMemory(from: bytes)
    }

    deinit {
        Self.wipe(memory)
        memory.deallocate()
    }

    /// Overwrites memory with zeros in a way that the compiler cannot optimize away.
    public static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }

    /// Overwrites an array's elements with zeros; other copies of the array are not affected.
    public static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { wipe($0) }
    }
}

/// Comparison in a time that depends only on the lengths, not on the contents.
package enum ConstantTime {
    /// Returns true if both sequences have the same length and the same bytes.
    package static func equal(
        _ left: some RandomAccessCollection<UInt8>,
        _ right: some RandomAccessCollection<UInt8>
    ) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(left, right) { difference |= one ^ other }
        return difference == 0
    }
}
