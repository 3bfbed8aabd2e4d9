// SPDX-License-Identifier: Apache-2.0

/// The checksum of RFC 9260 (SCTP), appendix A: Castagnoli's polynomial, bits reflected.
enum CRC32C {
    private static let polynomial: UInt32 = 0x82F6_3B78

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ polynomial : value >> 1 }
    }

    /// The checksum of the bytes, where those in `hole` count as zeros.
    static func checksum(_ bytes: ArraySlice<UInt8>, leavingOut hole: Range<Int> = 0..<0) -> UInt32 {
        var value = ~UInt32(0)
        for index in bytes.indices {
            let byte = hole.contains(index) ? 0 : bytes[index]
            value = value >> 8 ^ table[Int(truncatingIfNeeded: value & 0xFF ^ UInt32(byte))]
        }
        return ~value
    }
}
