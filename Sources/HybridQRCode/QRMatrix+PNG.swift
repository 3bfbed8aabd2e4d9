// SPDX-License-Identifier: Apache-2.0

private import CHybridPNG

extension QRMatrix {
    /// The shortest side of a picture, in pixels: large enough on a screen of 4K for a phone at arm's length.
    static let shortestSide = 512

    /// Pixels along a module's side in ``png()``, so that the picture with its border has 512 or a little more.
    public var pixelsPerModule: Int {
        let side = size + 2 * Self.border
        return (Self.shortestSide + side - 1) / side
    }

    /// The code as a PNG in 8-bit grey, black on white with a border of 4 modules, sharp at every edge.
    ///
    /// libpng's simplified interface writes it: the full one reports errors by `longjmp`, which must not cross Swift's
    /// frames.
    ///
    /// - Throws: ``QRCodeError/notDrawn`` when there is no memory for it.
    public func png() throws(QRCodeError) -> [UInt8] {
        let (side, pixels) = greyPixels()
        // libpng keeps this address from one call to the next, so it must not move.
        let image = UnsafeMutablePointer<png_image>.allocate(capacity: 1)
        defer { image.deallocate() }
        image.initialize(to: png_image())
        image.pointee.version = png_uint_32(PNG_IMAGE_VERSION)
        image.pointee.width = png_uint_32(side)
        image.pointee.height = png_uint_32(side)
        image.pointee.format = 0  // PNG_FORMAT_GRAY: no colour, no alpha, a byte each.
        // Frees what the image holds, also after an error.
        defer { png_image_free(image) }
        // Without memory it says how much it needs.
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

    /// Row by row, a byte for each pixel.
    private func greyPixels() -> (side: Int, pixels: [UInt8]) {
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
