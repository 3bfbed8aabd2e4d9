// SPDX-License-Identifier: Apache-2.0

import HybridQRCode
import TestSupport

/// A grayscale picture to draw on, with values from 0 for black to 255.
///
/// Tests run without optimization, so loops over pixels are simple.
struct Canvas {
    let width: Int
    let height: Int
    private(set) var pixels: [UInt8]

    init(width: Int, height: Int, shade: UInt8 = 255) {
        (self.width, self.height) = (width, height)
        pixels = Array(repeating: shade, count: width * height)
    }

    subscript(x: Int, y: Int) -> UInt8 {
        get { pixels[y * width + x] }
        set { pixels[y * width + x] = newValue }
    }

    mutating func fill(x: Range<Int>, y: Range<Int>, _ shade: UInt8) {
        let columns = x.clamped(to: 0..<width)
        for row in y.clamped(to: 0..<height) {
            let line = row * width + columns.lowerBound..<row * width + columns.upperBound
            pixels.withUnsafeMutableBufferPointer { $0[line].update(repeating: shade) }
        }
    }

    /// Draws a desktop with windows, lines that resemble text, and a gradient background.
    static func desktop(width: Int, height: Int, using random: inout SeededGenerator) -> Canvas {
        var canvas = Canvas(width: width, height: height)
        for y in 0..<height { canvas.fill(x: 0..<width, y: y..<y + 1, UInt8(60 + 120 * y / height)) }
        for _ in 0..<6 {
            let (left, top) = (random.number(0...width * 3 / 4), random.number(0...height * 3 / 4))
            let (wide, high) = (random.number(width / 6...width / 2), random.number(height / 6...height / 2))
            let isDark = random.number(0...1) == 0
            canvas.fill(x: left..<left + wide, y: top..<top + high, isDark ? 35 : 245)
            canvas.fill(x: left..<left + wide, y: top..<top + 24, isDark ? 70 : 200)
            for line in stride(from: top + 34, to: top + high - 12, by: 16) {
                // A narrow window has no space for some lines.
                let text = max(10, wide * random.number(3...9) / 10)
                canvas.write(x: left + 10..<left + text, y: line, isDark, &random)
            }
        }
        return canvas
    }

    /// Draws a line of strokes, four to nine pixels high, with gaps between words.
    private mutating func write(x: Range<Int>, y: Int, _ isLight: Bool, _ random: inout SeededGenerator) {
        var position = x.lowerBound
        while position < x.upperBound {
            let stroke = random.number(1...3)
            fill(x: position..<position + stroke, y: y + random.number(0...4)..<y + 9, isLight ? 220 : 20)
            position += stroke + (random.number(0...5) == 0 ? 6 : random.number(1...2))
        }
    }

    /// Returns the picture, blurred `variance` times with (1, 4, 6, 4, 1) / 16 in both directions: σ is √`variance`.
    func blurred(variance: Int = 1) -> Canvas {
        var result = self
        for _ in 0..<variance {
            result.smooth(step: 1)
            result.smooth(step: width)
        }
        return result
    }

    /// The outermost pixels are unchanged.
    private mutating func smooth(step: Int) {
        let source = pixels
        let count = source.count
        source.withUnsafeBufferPointer { source in
            pixels.withUnsafeMutableBufferPointer { target in
                var index = 2 * step
                while index < count - 2 * step {
                    let near = Int(source[index - step]) &+ Int(source[index &+ step])
                    let far = Int(source[index - 2 &* step]) &+ Int(source[index &+ 2 &* step])
                    target[index] = UInt8((far &+ 4 &* near &+ 6 &* Int(source[index]) &+ 8) >> 4)
                    index &+= 1
                }
            }
        }
    }

    /// Returns the picture with random noise of up to this amplitude.
    func noisy(_ amount: Int, using random: inout SeededGenerator) -> Canvas {
        var result = self
        var (bits, left) = (UInt64(0), 0)
        for index in pixels.indices {
            if left == 0 { (bits, left) = (random.next(), 8) }
            let noise = (Int(bits & 0xFF) * (2 * amount + 1)) >> 8
            result.pixels[index] = UInt8(min(max(Int(pixels[index]) + noise - amount, 0), 255))
            bits >>= 8
            left -= 1
        }
        return result
    }

    /// Returns the negative.
    var negative: Canvas {
        var result = self
        result.pixels = pixels.map { 255 - $0 }
        return result
    }
}
