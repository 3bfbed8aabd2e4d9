// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc

/// Sealed memory, which a child process can read as a file any number of times.
package enum SealedMemory {
    /// Creates the memory.
    ///
    /// - Returns: A descriptor that children inherit; `nil` with `errno` if there is no memory.
    package static func make(_ bytes: [UInt8]) -> CInt? {
        let descriptor = bytes.withUnsafeBytes { hybrid_sealed_memory("age-identity", $0.baseAddress, $0.count) }
        return descriptor >= 0 ? descriptor : nil
    }
}
