// SPDX-License-Identifier: Apache-2.0

/// A frame of a camera, copied out of the memory that it shares with other programs.
///
/// It may show a secret code, so the memory is wiped on release.
struct CapturedFrame: Sendable {
    /// The arrangement of the bytes.
    enum Content: Sendable {
        /// Samples; the blocks of the layout follow each other, and each begins at its offset.
        case samples(FrameLayout, offsets: [Int])
        /// A JPEG picture that should have this size.
        case jpeg(width: Int, height: Int)
    }

    /// A transformation that puts the picture upright; `nil` if the frame states none.
    struct Orientation: Hashable, Sendable {
        /// Turns by 90 degrees clockwise, from 0 to 3.
        var quarterTurns: Int
        /// True if left and right are exchanged.
        var isFlipped = false
    }

    let content: Content
    let orientation: Orientation?
    private let memory: PixelMemory

    /// Creates a frame whose bytes `fill` writes.
    init(
        _ content: Content,
        count: Int,
        orientation: Orientation? = nil,
        fill: (UnsafeMutableBufferPointer<UInt8>) throws(PictureError) -> Void
    ) throws(PictureError) {
        self.content = content
        self.orientation = orientation
        memory = try PixelMemory(count: count, fill: fill)
    }

    /// Calls `body` with the bytes.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withExtendedLifetime(memory) { () throws(Failure) in try body(UnsafeBufferPointer(memory.bytes)) }
    }

    /// Returns the frame for a search: in grayscale, or as JPEG.
    func searchable() throws(PictureError) -> CameraFrame {
        switch content {
        case .jpeg(let width, let height):
            let header = CameraFrameHeader(
                format: CameraFrame.jpegFormat,
                width: width,
                height: height,
                count: withBytes { $0.count }
            )
            return try CameraFrame(header) { target throws(PictureError) in
                withBytes { UnsafeMutableRawBufferPointer(target).copyMemory(from: UnsafeRawBufferPointer($0)) }
            }
        case .samples(let layout, let offsets):
            let (width, height) = (layout.width, layout.height)
            let header = CameraFrameHeader(
                format: UInt32(CodeSearch.pixelFormat),
                width: width,
                height: height,
                count: width * height
            )
            return try CameraFrame(header) { target throws(PictureError) in
                withBytes { layout.writeGray(from: $0, offset: offsets[layout.first.block], to: target) }
            }
        }
    }
}

extension FrameLayout {
    /// Writes the brightness of each pixel.
    ///
    /// - Parameters:
    ///   - source: A copy of the camera's blocks.
    ///   - offset: Start of the first plane's block in the copy.
    ///   - target: `width` × `height` bytes.
    func writeGray(from source: UnsafeBufferPointer<UInt8>, offset: Int, to target: UnsafeMutableBufferPointer<UInt8>) {
        // The loops use pointers, which check no bounds.
        precondition(target.count >= width * height && source.count >= offset + first.end)
        guard let bytes = source.baseAddress, var pixels = target.baseAddress else { return }
        let step = format.pixelStep
        for y in 0..<height {
            let start = offset + first.start + y * first.stride + format.grayOffset
            var position = bytes + start
            let end = pixels + width
            if step == 1 {
                pixels.update(from: position, count: width)
                pixels = end
            }
            while pixels < end {
                pixels.pointee = position.pointee
                pixels += 1
                position += step
            }
        }
    }
}
