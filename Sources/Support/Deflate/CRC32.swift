// SPDX-License-Identifier: Apache-2.0

private import CHybridZlib

/// The checksum of files in archives (CRC-32 of ISO-HDLC).
package enum CRC32 {
    /// Returns the checksum of at most 4 GiB; it detects damage, not forgery.
    package static func checksum(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBufferPointer { bytes in
            UInt32(truncatingIfNeeded: crc32(0, bytes.baseAddress, UInt32(clamping: bytes.count)))
        }
    }
}
