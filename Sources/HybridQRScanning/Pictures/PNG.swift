// SPDX-License-Identifier: Apache-2.0

private import CHybridPNG

/// Portable Network Graphics (ISO/IEC 15948), read by libpng's simplified interface.
///
/// libpng's full interface reports errors by `longjmp`, which must not cross Swift's frames; the simplified one keeps
/// its jumps to itself. Depth, palette, interlacing and colour are libpng's business: it gives grey, with white where
/// the picture is transparent, as viewers show it.
enum PNG {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    static func decode(_ bytes: [UInt8]) throws(PictureError) -> GreyPicture {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PictureError) in try decode(bytes) }
        }
        return try result.get()
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer) throws(PictureError) -> GreyPicture {
        // libpng keeps this address from one call to the next, so it must not move.
        let image = UnsafeMutablePointer<png_image>.allocate(capacity: 1)
        defer { image.deallocate() }
        image.initialize(to: png_image())
        image.pointee.version = png_uint_32(PNG_IMAGE_VERSION)
        // Frees what the image holds, also after an error.
        defer { png_image_free(image) }
        guard png_image_begin_read_from_memory(image, bytes.baseAddress, bytes.count) != 0 else {
            throw .damaged(reason(image.pointee))
        }
        let (width, height) = (Int(image.pointee.width), Int(image.pointee.height))
        image.pointee.format = 0  // PNG_FORMAT_GRAY: no colour, no alpha, a byte each.
        return try GreyPicture(width: width, height: height) { pixels throws(PictureError) in
            var white = png_color(red: 255, green: 255, blue: 255)
            guard png_image_finish_read(image, &white, pixels.baseAddress, png_int_32(width), nil) != 0 else {
                throw .damaged(reason(image.pointee))
            }
        }
    }

    private static func reason(_ image: png_image) -> String {
        withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
