// SPDX-License-Identifier: Apache-2.0

/// The mask of a client's frames (RFC 6455 §5.3), applied eight bytes at a time.
enum Mask {
    /// Copies `source` to the start of `target`, which must be as long, and unmasks it on the way.
    static func copy(_ source: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer, mask: UInt32) {
        let wide = UInt64(mask) << 32 | UInt64(mask)
        let count = source.count
        var offset = 0
        while offset &+ 8 <= count {
            let word = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            target.storeBytes(of: word ^ wide, toByteOffset: offset, as: UInt64.self)
            offset &+= 8
        }
        withUnsafeBytes(of: mask) { mask in
            while offset < count {
                target[offset] = source[offset] ^ mask[offset & 3]
                offset &+= 1
            }
        }
    }

    /// The mask for what follows `count` bytes of payload.
    static func turned(_ mask: UInt32, by count: Int) -> UInt32 {
        let bits = UInt32(count & 3) * 8
        guard bits > 0 else { return mask }
        // The first byte of the mask on the wire is the lowest of a little-endian number.
        let number = UInt32(littleEndian: mask)
        return (number >> bits | number << (32 - bits)).littleEndian
    }
}
