// SPDX-License-Identifier: Apache-2.0

/// A writer of SSH data types (RFC 4251 §5).
struct SSHWriter {
    /// The data written so far.
    private(set) var bytes: [UInt8] = []

    /// Appends one byte.
    mutating func byte(_ byte: UInt8) { bytes.append(byte) }

    /// Appends a number of 4 bytes.
    mutating func uint32(_ number: UInt32) {
        for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// Appends a string: its length in 4 bytes, then its contents.
    mutating func string(_ contents: some Collection<UInt8>) {
        uint32(UInt32(contents.count))
        bytes += contents
    }

    /// Appends a string of text in UTF-8.
    mutating func string(_ text: String) { string(text.utf8) }

    /// Appends a positive integer, given as magnitude without leading zeros.
    mutating func positiveInteger(_ magnitude: some Collection<UInt8>) {
        let isSigned = (magnitude.first ?? 0) >= 0x80
        uint32(UInt32(magnitude.count + (isSigned ? 1 : 0)))
        if isSigned { bytes.append(0) }
        bytes += magnitude
    }
}
