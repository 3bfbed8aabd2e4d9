// SPDX-License-Identifier: Apache-2.0

/// A picture in shades of grey: a byte to a pixel, 0 for black, row by row without gaps.
///
/// It may show a code, whose text is a secret: the memory is wiped on release and the pixels don't print.
public struct GreyPicture: Sendable {
    /// The most pixels of any picture; a phone's camera with 48 million is below.
    public static let maximumPixels = 50_000_000
    /// The longest side, in pixels.
    public static let maximumSide = 30_000

    /// Pixels from left to right.
    public let width: Int
    /// Pixels from top to bottom.
    public let height: Int
    private let memory: PixelMemory

    /// A picture of pixels that are there already.
    ///
    /// - Parameters:
    ///   - width: At least 1.
    ///   - height: At least 1.
    ///   - pixels: `width` × `height` of them.
    /// - Throws: ``PictureError/tooLarge(width:height:)``, ``PictureError/outOfMemory``, or
    ///   ``PictureError/damaged(_:)`` where there are more or fewer pixels.
    public init(width: Int, height: Int, pixels: UnsafeRawBufferPointer) throws(PictureError) {
        try self.init(width: width, height: height) { memory throws(PictureError) in
            guard pixels.count == memory.count else { throw .damaged("its size is not that of its pixels") }
            UnsafeMutableRawBufferPointer(memory).copyMemory(from: pixels)
        }
    }

    /// A picture whose pixels `fill` writes; nothing is allocated for one that is too large.
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

    /// Throws for a picture without pixels or with more than are read.
    static func checkSize(_ width: Int, _ height: Int) throws(PictureError) {
        guard width > 0, height > 0 else { throw .damaged("it has no pixels") }
        guard width <= maximumSide, height <= maximumSide, width * height <= maximumPixels else {
            throw .tooLarge(width: width, height: height)
        }
    }

    /// Lends the pixels.
    func withPixels<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try memory.withBytes(body)
    }
}

extension GreyPicture: CustomStringConvertible, CustomReflectable {
    /// Its size alone.
    public var description: String { "GreyPicture(\(width) × \(height))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
