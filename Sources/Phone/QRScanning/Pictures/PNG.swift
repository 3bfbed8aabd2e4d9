// SPDX-License-Identifier: Apache-2.0

private import CHybridPNG

/// A decoder for PNG (ISO/IEC 15948) with libpng's simplified interface.
///
/// libpng's full interface reports errors with `longjmp`, which must not cross Swift frames. libpng converts every
/// pixel format to grayscale on a background, as image viewers do.
enum PNG {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Decodes a picture.
    ///
    /// - Returns: The picture, and true if it may have transparent pixels.
    static func decode(
        _ bytes: [UInt8],
        on background: GrayPicture.Background
    ) throws(PictureError) -> (picture: GrayPicture, mayBeTransparent: Bool) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PictureError) in try decode(bytes, on: background) }
        }
        return try result.get()
    }

    private static func decode(
        _ bytes: UnsafeRawBufferPointer,
        on background: GrayPicture.Background
    ) throws(PictureError) -> (GrayPicture, Bool) {
        // libpng keeps the address of the image between calls, so the image must not move.
        let image = UnsafeMutablePointer<png_image>.allocate(capacity: 1)
        defer { image.deallocate() }
        image.initialize(to: png_image())
        image.pointee.version = png_uint_32(PNG_IMAGE_VERSION)
        // Frees the image's resources, even after an error.
        defer { png_image_free(image) }
        guard png_image_begin_read_from_memory(image, bytes.baseAddress, bytes.count) != 0 else {
            throw .damaged(reason(image.pointee))
        }
        let (width, height) = (Int(image.pointee.width), Int(image.pointee.height))
        let mayBeTransparent = image.pointee.format & 1 != 0  // PNG_FORMAT_FLAG_ALPHA
        image.pointee.format = 0  // PNG_FORMAT_GRAY: no color, no alpha, one byte per pixel.
        let picture = try GrayPicture(width: width, height: height) { pixels throws(PictureError) in
            let level = background.rawValue
            var color = png_color(red: level, green: level, blue: level)
            guard png_image_finish_read(image, &color, pixels.baseAddress, png_int_32(width), nil) != 0 else {
                throw .damaged(reason(image.pointee))
            }
        }
        return (picture, mayBeTransparent)
    }

    private static func reason(_ image: png_image) -> String {
        withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
