// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Memory of a fixed size for a secret; wiped on release and never printed.
///
/// The owner decides when it is written. An instance that was shared must not be written to any more.
package final class SecretBytes: SecretMaterial {
    /// The memory.
    package let memory: UnsafeMutableRawBufferPointer

    /// Allocates `count` zero bytes.
    package init(count: Int) {
        memory = .allocate(byteCount: count, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
    }

    /// Copies `bytes`.
    package convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count)
        memory.copyMemory(from: bytes)
    }

    deinit {
        Self.wipe(memory)
        memory.deallocate()
    }

    /// Writes zeros that the compiler cannot leave out.
    package static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }

    /// Writes zeros over an array's elements; copies of the array that still exist are not reached.
    package static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { wipe($0) }
    }
}

/// Comparison whose time depends on the lengths alone.
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
