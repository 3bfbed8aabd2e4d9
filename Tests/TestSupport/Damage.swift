// SPDX-License-Identifier: Apache-2.0

/// The two ways in which every message of the protocol is damaged in tests: cut off, and a bit turned over.
public enum Damage {
    /// Every true prefix, from none of the bytes to all but one.
    public static func truncations(of bytes: [UInt8]) -> [[UInt8]] {
        bytes.indices.map { Array(bytes[..<$0]) }
    }

    /// Every version that differs in exactly one bit.
    public static func bitFlips(of bytes: [UInt8]) -> [[UInt8]] {
        (0..<bytes.count * 8).map { bit in
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            return damaged
        }
    }
}
