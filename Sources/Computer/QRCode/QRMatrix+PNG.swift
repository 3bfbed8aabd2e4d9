// SPDX-License-Identifier: Apache-2.0

private import CHybridPNG

extension QRMatrix {
    /// Minimum width and height of the image in pixels, large enough to scan from a 4K screen at arm's length.
    static let minimumSide = 512

    /// Width and height of a module in ``png()`` in pixels, so that the image including its border has at least 512.
    public var pixelsPerModule: Int {
        let side = size + 2 * Self.border
        return (Self.minimumSide + side - 1) / side
    }

    /// Returns the code as a PNG in 8-bit grayscale, black on white with a border of 4 modules.
    ///
    /// This method uses libpng's simplified interface. The full interface reports errors with `longjmp`, which must not
    /// cross Swift frames.
    ///
    /// - Throws: ``QRCodeError/notDrawn`` if there is not enough memory.
    public func png() throws(QRCodeError) -> [UInt8] {
        let (side, pixels) = grayPixels()
        // libpng keeps the address of the image between calls, so the image must not move.
        let image = UnsafeMutablePointer<png_image>.allocate(capacity: 1)
        defer { image.deallocate() }
        image.initialize(to: png_image())
        image.pointee.version = png_uint_32(PNG_IMAGE_VERSION)
        image.pointee.width = png_uint_32(side)
        image.pointee.height = png_uint_32(side)
        image.pointee.format = 0  // PNG_FORMAT_GRAY: no color, no alpha, one byte per pixel.
        // Frees the image's resources, even after an error.
        defer { png_image_free(image) }
        // Without a buffer, libpng returns the required length.
        var length: png_alloc_size_t = 0
        guard png_image_write_to_memory(image, nil, &length, 0, pixels, png_int_32(side), nil) != 0 else {
            throw .notDrawn
        }
        var file = [UInt8](repeating: 0, count: Int(length))
        guard png_image_write_to_memory(image, &file, &length, 0, pixels, png_int_32(side), nil) != 0 else {
            throw .notDrawn
        }
        return Array(file.prefix(Int(length)))
    }

    /// Returns the width of the image in pixels, and the pixels row by row, one byte each.
    private func grayPixels() -> (side: Int, pixels: [UInt8]) {
        let scale = pixelsPerModule
        let side = (size + 2 * Self.border) * scale
        var pixels: [UInt8] = []
        pixels.reserveCapacity(side * side)
        for row in -Self.border..<(size + Self.border) {
            var line: [UInt8] = []
            for column in -Self.border..<(size + Self.border) {
                line += repeatElement(isDark(column: column, row: row) ? 0 : 255, count: scale)
            }
            for _ in 0..<scale { pixels += line }
        }
        return (side, pixels)
    }
}
