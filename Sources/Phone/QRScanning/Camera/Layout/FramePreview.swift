// SPDX-License-Identifier: Apache-2.0

/// The viewfinder's picture of a frame: every n-th pixel of every n-th row, in colors.
struct FramePreview {
    private let layout: FrameLayout
    private let offsets: [Int]
    private let step: Int
    let width: Int
    let height: Int

    /// Creates the conversion.
    ///
    /// - Parameters:
    ///   - layout: The arrangement of the frame.
    ///   - offsets: Start of each block in the copy.
    ///   - most: Maximum width in pixels.
    init(_ layout: FrameLayout, offsets: [Int], widthUpTo most: Int) {
        self.layout = layout
        self.offsets = offsets
        step = Self.step(layout.width, most)
        width = max(1, layout.width / step)
        height = max(1, layout.height / step)
    }

    /// Returns the number n for frames of this width.
    static func step(_ width: Int, _ most: Int) -> Int { max(1, (width + most - 1) / max(1, most)) }

    /// Writes red, green and blue of each pixel.
    ///
    /// A viewfinder does this many times per second, so what a row has in common is computed once.
    ///
    /// - Parameters:
    ///   - source: A copy of all blocks up to the end of their planes.
    ///   - target: `width` × `height` × 3 bytes.
    func write(from source: UnsafeBufferPointer<UInt8>, to target: UnsafeMutableBufferPointer<UInt8>) {
        // The loops use pointers, which check no bounds.
        precondition(target.count >= width * height * 3)
        for plane in [layout.first] + layout.colors {
            precondition(source.count >= offsets[plane.block] + plane.end)
        }
        guard let bytes = source.baseAddress, var pixels = target.baseAddress else { return }
        let format = layout.format
        let pixelStep = step * format.pixelStep
        for row in 0..<height {
            let y = min(row * step, layout.height - 1)
            let start = position(of: layout.first, row: y)
            let gray = start + format.grayOffset
            switch format.family {
            case .colors:
                let others = format.redAndBlueOffsets
                copy(bytes + start + others.red, bytes + gray, bytes + start + others.blue, pixelStep, to: pixels)
            case .pairs:
                let first = start + (format == .yuy2 ? 1 : 0)
                convert(bytes + gray, pixelStep, blue: bytes + first, red: bytes + first + 2, pairStep: 4, to: pixels)
            case .pairedPlane where !layout.colors.isEmpty:
                let first = bytes + position(of: layout.colors[0], row: y / 2)
                let (blue, red) = format.hasRedFirst ? (first + 1, first) : (first, first + 1)
                convert(bytes + gray, pixelStep, blue: blue, red: red, pairStep: 2, to: pixels)
            case .twoPlanes where layout.colors.count == 2:
                let first = bytes + position(of: layout.colors[0], row: y / 2)
                let second = bytes + position(of: layout.colors[1], row: y / 2)
                let (blue, red) = format.hasRedFirst ? (second, first) : (first, second)
                convert(bytes + gray, pixelStep, blue: blue, red: red, pairStep: 1, to: pixels)
            case .gray, .pairedPlane, .twoPlanes:
                copy(bytes + gray, bytes + gray, bytes + gray, pixelStep, to: pixels)
            }
            pixels += width * 3
        }
    }

    /// Returns the position of a row of a plane in the copy.
    private func position(of plane: FrameLayout.Plane, row: Int) -> Int {
        offsets[plane.block] + plane.start + row * plane.stride
    }

    private typealias Samples = UnsafePointer<UInt8>

    /// Writes a row of colors.
    private func copy(
        _ red: Samples,
        _ green: Samples,
        _ blue: Samples,
        _ pixelStep: Int,
        to target: UnsafeMutablePointer<UInt8>
    ) {
        var (source, index, column) = (0, 0, 0)
        while column < width {
            target[index] = red[source]
            target[index + 1] = green[source]
            target[index + 2] = blue[source]
            source += pixelStep
            index += 3
            column += 1
        }
    }

    /// Writes a row of luma and of colors that each two pixels share (ITU-R BT.601, limited range).
    private func convert(
        _ luma: Samples,
        _ pixelStep: Int,
        blue: Samples,
        red: Samples,
        pairStep: Int,
        to target: UnsafeMutablePointer<UInt8>
    ) {
        var (source, index, x) = (0, 0, 0)
        let end = width * step
        while x < end {
            let pair = x / 2 * pairStep
            let bright = 298 * (Int(luma[source]) - 16) + 128
            let (blue, red) = (Int(blue[pair]) - 128, Int(red[pair]) - 128)
            target[index] = Self.clamped(bright + 409 * red)
            target[index + 1] = Self.clamped(bright - 100 * blue - 208 * red)
            target[index + 2] = Self.clamped(bright + 516 * blue)
            source += pixelStep
            index += 3
            x += step
        }
    }

    private static func clamped(_ value: Int) -> UInt8 {
        let value = value >> 8
        // The functions min and max are slow without optimization, as in tests.
        return value < 0 ? 0 : value > 255 ? 255 : UInt8(truncatingIfNeeded: value)
    }
}
