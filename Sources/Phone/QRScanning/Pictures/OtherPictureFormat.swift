// SPDX-License-Identifier: Apache-2.0

/// Formats of pictures that are recognized, but not decoded, so that a message can name them.
enum OtherPictureFormat {
    private static let signatures: [(name: String, offset: Int, bytes: [UInt8])] = [
        ("GIF", 0, Array("GIF8".utf8)), ("WebP", 8, Array("WEBP".utf8)), ("BMP", 0, Array("BM".utf8)),
        ("TIFF", 0, [0x49, 0x49, 0x2A, 0]), ("TIFF", 0, [0x4D, 0x4D, 0, 0x2A]), ("PDF", 0, Array("%PDF".utf8)),
        ("JPEG XL", 0, [0xFF, 0x0A]), ("JPEG XL", 4, Array("JXL ".utf8)), ("JPEG 2000", 4, Array("jP  ".utf8)),
        ("AVIF", 4, Array("ftypavif".utf8)), ("HEIC", 4, Array("ftyphe".utf8)), ("HEIF", 4, Array("ftypmif1".utf8)),
        ("SVG", 0, Array("<svg".utf8)), ("SVG", 0, Array("<?xml".utf8)),
    ]

    /// Returns the name of the format; `nil` if it is not known.
    static func name(of bytes: [UInt8]) -> String? {
        signatures.first { bytes.dropFirst($0.offset).starts(with: $0.bytes) }?.name
    }
}
