// SPDX-License-Identifier: Apache-2.0

/// Damaged versions of a message: truncated, or with one bit flipped.
package enum Damage {
    /// Returns every proper prefix, from the empty one to all bytes but the last.
    package static func truncations(of bytes: [UInt8]) -> [[UInt8]] {
        bytes.indices.map { Array(bytes[..<$0]) }
    }

    /// Returns every version that differs in exactly one bit.
    package static func bitFlips(of bytes: [UInt8]) -> [[UInt8]] {
        (0..<bytes.count * 8).map { bit in
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            return damaged
        }
    }

    /// Returns every seventh of ``bitFlips(of:)``, or all of them before a release.
    package static func someBitFlips(of bytes: [UInt8]) -> [[UInt8]] {
        guard !Thoroughness.isFull else { return bitFlips(of: bytes) }
        return stride(from: 0, to: bytes.count * 8, by: 7).map { bit in
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            return damaged
        }
    }
}
