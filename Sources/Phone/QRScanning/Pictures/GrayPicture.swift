// SPDX-License-Identifier: Apache-2.0

/// A grayscale picture: one byte per pixel, 0 for black, row by row without gaps.
///
/// The picture may show a secret code, so the memory is wiped on release and the pixels are never printed.
package struct GrayPicture: Sendable {
    /// Maximum number of pixels, enough for a phone camera with 48 million.
    package static let maximumPixels = 50_000_000
    /// Maximum width and height in pixels.
    package static let maximumSide = 30_000
    /// Maximum file size in bytes, enough for a color photograph with ``maximumPixels`` as PNG.
    package static let maximumFileBytes = 150 << 20

    /// Width in pixels.
    package let width: Int
    /// Height in pixels.
    package let height: Int
    private let memory: PixelMemory

    /// The color that stands for transparent pixels.
    enum Background: UInt8, CaseIterable {
        case white = 255
        case black = 0
    }

    /// Creates a picture by decoding a PNG or JPEG; the first bytes determine the format.
    ///
    /// - Throws: ``PictureError``. Both decoders return their errors and never end the program.
    package init(decoding bytes: [UInt8]) throws(PictureError) {
        self = try Self.decode(bytes, on: .white).picture
    }

    /// Decodes a picture on a background.
    ///
    /// - Returns: The picture, and true if it may have transparent pixels.
    static func decode(
        _ bytes: [UInt8],
        on background: Background
    ) throws(PictureError) -> (picture: GrayPicture, mayBeTransparent: Bool) {
        try checkFormat(bytes)
        if bytes.starts(with: PNG.signature) { return try PNG.decode(bytes, on: background) }
        return (try JPEG.decode(bytes), false)
    }

    /// Throws an error if the file begins like neither a PNG nor a JPEG.
    static func checkFormat(_ bytes: [UInt8]) throws(PictureError) {
        guard !bytes.isEmpty else { throw .empty }
        guard !bytes.starts(with: PNG.signature), !bytes.starts(with: JPEG.signature) else { return }
        throw OtherPictureFormat.name(of: bytes).map(PictureError.otherFormat) ?? .unknownFormat
    }

    /// Creates a picture from pixels.
    ///
    /// - Parameters:
    ///   - width: Width in pixels, at least 1.
    ///   - height: Height in pixels, at least 1.
    ///   - pixels: `width` × `height` bytes.
    /// - Throws: ``PictureError/tooLarge(width:height:)``, ``PictureError/outOfMemory``, or
    ///   ``PictureError/damaged(_:)`` if the number of pixels is wrong.
    package init(width: Int, height: Int, pixels: UnsafeRawBufferPointer) throws(PictureError) {
        try self.init(width: width, height: height) { memory throws(PictureError) in
            guard pixels.count == memory.count else { throw .damaged("its size is not that of its pixels") }
            UnsafeMutableRawBufferPointer(memory).copyMemory(from: pixels)
        }
    }

    /// Creates a picture whose pixels are written by `fill`; the size is checked before the allocation.
    init(
        width: Int,
        height: Int,
        fill: (UnsafeMutableBufferPointer<UInt8>) throws(PictureError) -> Void
    ) throws(PictureError) {
        try Self.checkSize(width, height)
        self.width = width
        self.height = height
        memory = try PixelMemory(count: width * height, fill: fill)
    }

    /// Throws an error if the size is zero or exceeds the limits.
    static func checkSize(_ width: Int, _ height: Int) throws(PictureError) {
        guard width > 0, height > 0 else { throw .damaged("it has no pixels") }
        guard width <= maximumSide, height <= maximumSide, width * height <= maximumPixels else {
            throw .tooLarge(width: width, height: height)
        }
    }

    /// Calls `body` with the pixels.
    func withPixels<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withExtendedLifetime(memory) { () throws(Failure) in try body(UnsafeBufferPointer(memory.bytes)) }
    }
}

extension GrayPicture: CustomStringConvertible, CustomReflectable {
    /// A text with the size only, because the pixels may show a secret.
    package var description: String { "GrayPicture(\(width) × \(height))" }
    /// A mirror without children, because the pixels may show a secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
