// SPDX-License-Identifier: Apache-2.0

extension QRMatrix {
    /// The code as a PNG file, black on white with a border of 4.
    ///
    /// One bit for a pixel and uncompressed, so that no library is needed (PNG third edition §5, RFC 1950, RFC 1951).
    ///
    /// - Parameter scale: Pixels along the side of a module, 1 to 64.
    public func png(scale: Int = 8) -> [UInt8] {
        let scale = min(max(scale, 1), 64)
        let side = (size + 8) * scale
        var header = Self.bigEndian(UInt32(side)) + Self.bigEndian(UInt32(side))
        // Bit depth 1, greyscale, the only compression and filter methods, not interlaced.
        header += [1, 0, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + Self.chunk("IHDR", header)
            + Self.chunk("IDAT", Self.stored(pixels(side: side, scale: scale)))
            + Self.chunk("IEND", [])
    }

    /// Rows of pixels, a filter byte first; 1 is white.
    private func pixels(side: Int, scale: Int) -> [UInt8] {
        var pixels: [UInt8] = []
        for row in -4..<(size + 4) {
            var line = [UInt8](repeating: 0, count: 1 + (side + 7) / 8)
            for x in 0..<side where !isDark(column: x / scale - 4, row: row) {
                line[1 + x / 8] |= 0x80 >> UInt8(x % 8)
            }
            for _ in 0..<scale { pixels += line }
        }
        return pixels
    }

    /// A zlib stream of stored blocks.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(0xFFFF)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            stream.append(rest.isEmpty ? 1 : 0)
            for number in [length, ~length] { stream += [UInt8(number & 0xFF), UInt8(number >> 8)] }
            stream += block
        } while !rest.isEmpty
        return stream + bigEndian(adler32(bytes))
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + content
        return bigEndian(UInt32(content.count)) + body + bigEndian(crc32(body))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { (shift: UInt32) in UInt8(truncatingIfNeeded: number >> shift) }
    }

    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return high << 16 | low
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var remainder: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder >> 1 ^ (remainder & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return ~remainder
    }
}
