// SPDX-License-Identifier: Apache-2.0

import CHybridPNG
import HybridQRCode
import Testing

@Suite("QR codes as PNG")
struct PNGTests {
    @Test("are square, in 8-bit grayscale, and slightly wider than 512 pixels", arguments: [3, 168, 500])
    func header(digits: Int) throws {
        let code = try QRMatrix(text: link(digits: digits))
        let file = try code.png()
        #expect(file.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
        let header = Array(file[16..<29])
        let width = header[0..<4].reduce(0) { $0 << 8 | Int($1) }
        #expect(header[4..<8].reduce(0) { $0 << 8 | Int($1) } == width)
        #expect(width == (code.size + 8) * code.pixelsPerModule && (512..<640).contains(width))
        #expect(header[8] == 8 && header[9] == 0, "eight bits, gray without alpha")
        #expect(file.count < 20_000)
    }

    @Test(
        "have sharp modules and a white border of 4",
        arguments: [3, 168, 500]
    )
    func pixels(digits: Int) throws {
        let code = try QRMatrix(text: link(digits: digits))
        let (side, pixels) = try decoded(code.png())
        let scale = code.pixelsPerModule
        var wrong = 0
        for y in 0..<side {
            for x in 0..<side {
                let isDark = code.isDark(column: x / scale - 4, row: y / scale - 4)
                if pixels[y * side + x] != (isDark ? 0 : 255) { wrong += 1 }
            }
        }
        #expect(wrong == 0)
    }

    /// An image decoded with libpng.
    private func decoded(_ file: [UInt8]) throws -> (side: Int, pixels: [UInt8]) {
        let image = UnsafeMutablePointer<png_image>.allocate(capacity: 1)
        defer { image.deallocate() }
        image.initialize(to: png_image())
        defer { png_image_free(image) }
        image.pointee.version = png_uint_32(PNG_IMAGE_VERSION)
        try #require(png_image_begin_read_from_memory(image, file, file.count) != 0)
        image.pointee.format = 0
        let side = Int(image.pointee.width)
        var pixels = [UInt8](repeating: 77, count: side * Int(image.pointee.height))
        try #require(png_image_finish_read(image, nil, &pixels, png_int_32(side), nil) != 0)
        return (side, pixels)
    }
}
