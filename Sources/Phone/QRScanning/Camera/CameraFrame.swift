// SPDX-License-Identifier: Apache-2.0

private import CHybridZBar
internal import HybridPrimitives

/// A frame in the pixel format of its camera.
///
/// It may show a secret code, so the memory is wiped on release. Other formats than gray are converted by C code, and only
/// in the ``PictureProcess``.
package struct CameraFrame: Sendable {
    /// Maximum size in bytes, enough for 4,096 × 4,096 pixels of 4 bytes.
    static let maximumBytes = 64 << 20

    /// The format of frames that are JPEG pictures.
    static let jpegFormat =
        UInt32(UInt8(ascii: "M")) | UInt32(UInt8(ascii: "J")) << 8
        | UInt32(UInt8(ascii: "P")) << 16 | UInt32(UInt8(ascii: "G")) << 24

    /// Format and size.
    let header: CameraFrameHeader
    private let memory: PixelMemory

    /// Creates a frame whose bytes `fill` writes; the size is checked before the allocation.
    ///
    /// - Throws: ``PictureError``.
    init(
        _ header: CameraFrameHeader,
        fill: (UnsafeMutableBufferPointer<UInt8>) throws(PictureError) -> Void
    ) throws(PictureError) {
        try GrayPicture.checkSize(header.width, header.height)
        guard header.count > 0 else { throw .damaged("it has no pixels") }
        guard header.count <= Self.maximumBytes else { throw .tooLarge(width: header.width, height: header.height) }
        self.header = header
        memory = try PixelMemory(count: header.count, fill: fill)
    }

    /// Creates a frame by copying its bytes.
    ///
    /// - Throws: ``PictureError``.
    package init(format: UInt32, width: Int, height: Int, bytes: UnsafeRawBufferPointer) throws(PictureError) {
        let header = CameraFrameHeader(format: format, width: width, height: height, count: bytes.count)
        try self.init(header) { UnsafeMutableRawBufferPointer($0).copyMemory(from: bytes) }
    }

    /// Creates a frame with one byte of gray per pixel, row by row.
    ///
    /// - Throws: ``PictureError``.
    package init(width: Int, height: Int, gray: UnsafeRawBufferPointer) throws(PictureError) {
        try self.init(format: UInt32(CodeSearch.pixelFormat), width: width, height: height, bytes: gray)
    }

    /// Calls `body` with the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withExtendedLifetime(memory) { body(UnsafeRawBufferPointer(memory.bytes)) }
    }

    /// True if the frame is a JPEG picture.
    var isCompressed: Bool { header.format == Self.jpegFormat }

    /// Returns a compressed frame in colors, at a fraction of its size.
    ///
    /// - Throws: ``PictureError``.
    func preview(widthUpTo most: Int) throws(PictureError) -> ViewfinderPicture {
        guard isCompressed else { throw .unsupportedFormat }
        return try withArray { bytes throws(PictureError) in
            try JPEG.decode(bytes, size: (header.width, header.height), widthUpTo: most)
        }
    }

    /// Calls `body` with a copy of the bytes, which is wiped.
    private func withArray<Result>(_ body: ([UInt8]) throws(PictureError) -> Result) throws(PictureError) -> Result {
        var bytes = withBytes { Array($0) }
        defer { SecretBytes.wipe(&bytes) }
        return try body(bytes)
    }

    /// Returns the frame in grayscale.
    ///
    /// - Throws: ``PictureError``.
    func grayPicture() throws(PictureError) -> GrayPicture {
        guard !isCompressed else {
            return try withArray { bytes throws(PictureError) in
                try JPEG.decode(bytes, size: (header.width, header.height))
            }
        }
        guard let raw = zbar_image_create() else { throw .outOfMemory }
        defer { zbar_image_destroy(raw) }
        zbar_image_set_format(raw, UInt(header.format))
        zbar_image_set_size(raw, UInt32(header.width), UInt32(header.height))
        let image = withBytes { bytes in
            // There is no cleanup handler, because the frame owns the bytes. The converted image has bytes of its own.
            zbar_image_set_data(raw, bytes.baseAddress, UInt(bytes.count), nil)
            defer { zbar_image_set_data(raw, nil, 0, nil) }
            return zbar_image_convert(raw, CodeSearch.pixelFormat)
        }
        guard let image else { throw .unsupportedFormat }
        defer { zbar_image_destroy(image) }
        let (width, height) = (Int(zbar_image_get_width(image)), Int(zbar_image_get_height(image)))
        try GrayPicture.checkSize(width, height)
        guard let pixels = zbar_image_get_data(image), zbar_image_get_data_length(image) >= UInt(width * height) else {
            throw .damaged("it has no pixels")
        }
        let bytes = UnsafeRawBufferPointer(start: pixels, count: width * height)
        return try GrayPicture(width: width, height: height, pixels: bytes)
    }
}
