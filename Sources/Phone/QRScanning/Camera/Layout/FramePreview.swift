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
    func write(from source: UnsafeBufferPointer<UInt8>, to target: UnsafeMutableBufferPointer<UInt8>) {
        var index = 0
        for row in 0..<height {
            for column in 0..<width {
                let color = color(source, min(column * step, layout.width - 1), min(row * step, layout.height - 1))
                target[index] = color.red
                target[index + 1] = color.green
                target[index + 2] = color.blue
                index += 3
            }
        }
    }

    private typealias Color = (red: UInt8, green: UInt8, blue: UInt8)

    private func color(_ source: UnsafeBufferPointer<UInt8>, _ x: Int, _ y: Int) -> Color {
        let format = layout.format
        let plane = layout.first
        let pixel = offsets[plane.block] + plane.start + y * plane.stride + x * format.pixelStep
        let gray = source[pixel + format.grayOffset]
        switch format.family {
        case .colors:
            let others = format.redAndBlueOffsets
            return (source[pixel + others.red], gray, source[pixel + others.blue])
        case .gray: return (gray, gray, gray)
        case .pairs:
            let pair = offsets[plane.block] + plane.start + y * plane.stride + x / 2 * 4
            let first = format == .yuy2 ? 1 : 0
            return Self.color(gray, blue: source[pair + first], red: source[pair + first + 2])
        case .pairedPlane:
            guard let colors = layout.colors.first else { return (gray, gray, gray) }
            let pair = offsets[colors.block] + colors.start + y / 2 * colors.stride + x / 2 * 2
            let (one, other) = (source[pair], source[pair + 1])
            return format.hasRedFirst
                ? Self.color(gray, blue: other, red: one) : Self.color(gray, blue: one, red: other)
        case .twoPlanes:
            guard layout.colors.count == 2 else { return (gray, gray, gray) }
            let one = sample(source, layout.colors[0], x, y)
            let other = sample(source, layout.colors[1], x, y)
            return format.hasRedFirst
                ? Self.color(gray, blue: other, red: one) : Self.color(gray, blue: one, red: other)
        }
    }

    private func sample(_ source: UnsafeBufferPointer<UInt8>, _ plane: FrameLayout.Plane, _ x: Int, _ y: Int) -> UInt8 {
        source[offsets[plane.block] + plane.start + y / 2 * plane.stride + x / 2]
    }

    /// Returns the color of a pixel (ITU-R BT.601, limited range).
    private static func color(_ luma: UInt8, blue: UInt8, red: UInt8) -> Color {
        let (bright, blue, red) = (298 * (Int(luma) - 16) + 128, Int(blue) - 128, Int(red) - 128)
        func clamped(_ value: Int) -> UInt8 { UInt8(min(max(value >> 8, 0), 255)) }
        return (
            clamped(bright + 409 * red), clamped(bright - 100 * blue - 208 * red), clamped(bright + 516 * blue)
        )
    }
}
