// SPDX-License-Identifier: Apache-2.0

/// A small picture of a camera for its user.
///
/// It may show a secret code, so the memory is wiped on release and the pixels are never printed. Copies are not wiped.
public struct ViewfinderPicture: Sendable {
    /// Width in pixels, at most ``CameraSession/Options/pictureWidth``.
    public let width: Int
    /// Height in pixels.
    public let height: Int
    /// The turns by 90 degrees clockwise, from 0 to 3, that put the picture upright.
    public internal(set) var quarterTurns = 0
    /// True if the viewer shows the picture, after the turns, with left and right exchanged, as in a mirror.
    public internal(set) var isMirrored = false
    private let memory: PixelMemory

    /// Creates a picture whose `width` × `height` × 3 bytes `fill` writes.
    ///
    /// - Throws: ``PictureError/outOfMemory``, or an error of `fill`.
    init(
        width: Int,
        height: Int,
        fill: (UnsafeMutableBufferPointer<UInt8>) throws(PictureError) -> Void
    ) throws(PictureError) {
        self.width = width
        self.height = height
        memory = try PixelMemory(count: width * height * 3, fill: fill)
    }

    /// Calls `body` with the pixels, row by row without gaps: red, green and blue, one byte each.
    public func withPixels<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withExtendedLifetime(memory) { try body(UnsafeRawBufferPointer(memory.bytes)) }
    }
}

extension ViewfinderPicture: CustomStringConvertible, CustomReflectable {
    /// A text with the size only, because the pixels may show a secret.
    public var description: String { "ViewfinderPicture(\(width) × \(height))" }
    /// A mirror without children, because the pixels may show a secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
