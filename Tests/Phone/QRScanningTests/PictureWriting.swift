// SPDX-License-Identifier: Apache-2.0

import CHybridPNG
import CHybridTurboJPEG
import TestSupport

/// Encoders of picture files, based on the libraries that the module decodes them with.
extension Canvas {
    /// Returns a grayscale PNG.
    func png() throws -> [UInt8] { try PictureWriting.png(width, height, format: 0, pixels) }

    /// Returns a color PNG with equal red, green and blue, all opaque.
    func colorPNG() throws -> [UInt8] {
        try PictureWriting.png(width, height, format: 3, pixels.flatMap { [$0, $0, $0, 255] })
    }

    /// Returns a grayscale JPEG.
    func jpeg(quality: Int32, flags: Int32 = 0) throws -> [UInt8] {
        try PictureWriting.jpeg(width, height, pixels, quality, TJPF_GRAY, TJSAMP_GRAY, flags)
    }

    /// Returns a color JPEG with chroma subsampling, as from cameras.
    func colorJPEG(quality: Int32) throws -> [UInt8] {
        try PictureWriting.jpeg(width, height, pixels.flatMap { [$0, $0, $0] }, quality, TJPF_RGB, TJSAMP_420)
    }
}

enum PictureWriting {
    struct Failure: Error {
        let step: String
    }

    /// Returns a PNG of pixels in one of libpng's formats: 0 gray, 1 gray and alpha, 3 red, green, blue and alpha.
    static func png(_ width: Int, _ height: Int, format: UInt32, _ pixels: [UInt8]) throws -> [UInt8] {
        var image = png_image()
        image.version = png_uint_32(PNG_IMAGE_VERSION)
        (image.width, image.height, image.format) = (png_uint_32(width), png_uint_32(height), format)
        var size = png_alloc_size_t(0)
        guard png_image_write_to_memory(&image, nil, &size, 0, pixels, 0, nil) != 0 else { throw Failure(step: "size") }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        guard png_image_write_to_memory(&image, &bytes, &size, 0, pixels, 0, nil) != 0 else {
            throw Failure(step: "png")
        }
        return Array(bytes.prefix(Int(size)))
    }

    /// Returns a JPEG of pixels.
    static func jpeg(
        _ width: Int,
        _ height: Int,
        _ pixels: [UInt8],
        _ quality: Int32,
        _ format: TJPF,
        _ sampling: TJSAMP,
        _ flags: Int32 = 0
    ) throws -> [UInt8] {
        guard let encoder = tjInitCompress() else { throw Failure(step: "init") }
        defer { tjDestroy(encoder) }
        var start: UnsafeMutablePointer<UInt8>?
        var size: UInt = 0
        defer { tjFree(start) }
        let code = tjCompress2(
            encoder,
            pixels,
            Int32(width),
            0,
            Int32(height),
            Int32(format.rawValue),
            &start,
            &size,
            Int32(sampling.rawValue),
            quality,
            flags
        )
        guard code == 0, let start else { throw Failure(step: "jpeg") }
        return Array(UnsafeBufferPointer(start: start, count: Int(size)))
    }
}

/// Returns the text of a sign-in code with a realistic number of digits.
func link(_ random: inout SeededGenerator) -> String {
    "FIDO:/" + (0..<168).map { _ in String(random.number(0...9)) }.joined()
}
