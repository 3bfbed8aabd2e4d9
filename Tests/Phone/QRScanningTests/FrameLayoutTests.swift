// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridQRScanning

/// Frames in memory, described as a camera would.
private struct SampleFrame {
    /// Bytes per pixel and the position of the brightness, written down a second time.
    static let arrangement: [PixelFormat: (step: Int, gray: Int)] = [
        .gray8: (1, 0), .nv12: (1, 0), .nv21: (1, 0), .i420: (1, 0), .yv12: (1, 0), .yuy2: (2, 0), .uyvy: (2, 1),
        .rgbx: (4, 1), .bgrx: (4, 1), .rgba: (4, 1), .bgra: (4, 1), .xrgb: (4, 2), .xbgr: (4, 2), .rgb: (3, 1),
        .bgr: (3, 1),
    ]

    let format: PixelFormat
    let width = 6
    let height = 4
    var padding = 5

    var arrangement: (step: Int, gray: Int) { Self.arrangement[format] ?? (0, 0) }
    var stride: Int { width * arrangement.step + padding }

    func shade(_ x: Int, _ y: Int) -> UInt8 { UInt8(x * 30 + y * 7 + 16) }

    /// The first plane, with 255 in all bytes that are not the brightness.
    var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 255, count: stride * height)
        for y in 0..<height {
            for x in 0..<width { bytes[y * stride + x * arrangement.step + arrangement.gray] = shade(x, y) }
        }
        return bytes
    }

    var expected: [UInt8] { (0..<height).flatMap { y in (0..<width).map { shade($0, y) } } }

    func layout(_ blocks: [FrameLayout.Block]) throws -> FrameLayout {
        try FrameLayout(format, width: width, height: height, blocks: blocks)
    }
}

@Suite("The layout of a camera's frame")
struct FrameLayoutTests {
    private static func block(_ size: Int, stride: Int = 0, offset: Int = 0, maximum: Int? = nil) -> FrameLayout.Block {
        FrameLayout.Block(maximum: maximum ?? offset + size, offset: offset, size: size, stride: stride)
    }

    private static func captured(_ layout: FrameLayout, _ bytes: [UInt8]) throws -> CapturedFrame {
        try CapturedFrame(.samples(layout, offsets: [0]), count: bytes.count) { target in
            _ = target.update(fromContentsOf: bytes)
        }
    }

    private static func flaw(_ frame: SampleFrame, _ block: FrameLayout.Block) -> FrameLayout.Flaw? {
        do {
            _ = try frame.layout([block])
            return nil
        } catch {
            return error as? FrameLayout.Flaw
        }
    }

    @Test("has the brightness of each pixel, with and without padding", arguments: PixelFormat.allCases)
    func gray(format: PixelFormat) throws {
        for padding in [0, 5, 64] where padding == 0 || format.family != .pairs || padding % 2 == 1 {
            let frame = SampleFrame(format: format, padding: padding)
            let layout = try frame.layout([Self.block(frame.bytes.count, stride: padding == 0 ? 0 : frame.stride)])
            let searchable = try Self.captured(layout, frame.bytes).searchable()
            #expect(searchable.withBytes { Array($0) } == frame.expected)
        }
    }

    @Test("does not need the padding of the last row, but all its pixels", arguments: PixelFormat.allCases)
    func lastRow(format: PixelFormat) throws {
        let frame = SampleFrame(format: format)
        let needed = frame.bytes.count - frame.padding
        #expect(Self.flaw(frame, Self.block(needed, stride: frame.stride)) == nil)
        #expect(Self.flaw(frame, Self.block(needed - 1, stride: frame.stride)) == .short)
    }

    @Test("is refused if its data are outside the memory, or its rows overlap")
    func lies() {
        let frame = SampleFrame(format: .yuy2)
        let (size, stride) = (frame.bytes.count, frame.stride)
        let cases: [(FrameLayout.Block, FrameLayout.Flaw)] = [
            (Self.block(size, stride: stride, offset: 1, maximum: size), .outside),
            (Self.block(size, stride: stride, offset: .max, maximum: size), .outside),
            (Self.block(size, stride: stride, offset: -1, maximum: size), .outside),
            (Self.block(size, stride: stride, maximum: size - 1), .outside),
            (Self.block(size, stride: frame.width * 2 - 1), .stride),
            (Self.block(size, stride: -stride), .stride),
            (Self.block(size, stride: Int(Int32.max)), .stride),
            (Self.block(size, stride: stride * 2), .short),
            (Self.block(0, stride: stride), .short),
        ]
        for (block, expected) in cases { #expect(Self.flaw(frame, block) == expected, "\(block)") }
        #expect(throws: FrameLayout.Flaw.outside) { try frame.layout([]) }
        for side in [0, -1, 4097, Int.max] {
            #expect(throws: FrameLayout.Flaw.size) {
                try FrameLayout(.gray8, width: side, height: 4, blocks: [Self.block(1 << 20)])
            }
            #expect(throws: FrameLayout.Flaw.size) {
                try FrameLayout(.gray8, width: 4, height: side, blocks: [Self.block(1 << 20)])
            }
        }
    }

    @Test("has planes of colors in the same block, in others, or none")
    func planes() throws {
        let luma = FrameLayout.Block(maximum: 100, offset: 0, size: 24, stride: 6)
        let pairs = FrameLayout.Block(maximum: 100, offset: 3, size: 12, stride: 0)
        let apart = try FrameLayout(.nv12, width: 6, height: 4, blocks: [luma, pairs])
        #expect(apart.colors == [FrameLayout.Plane(block: 1, start: 0, stride: 6, rowBytes: 6, rows: 2)])
        let whole = FrameLayout.Block(maximum: 100, offset: 0, size: 36, stride: 6)
        let together = try FrameLayout(.i420, width: 6, height: 4, blocks: [whole])
        #expect(together.colors.map(\.start) == [24, 30])
        #expect(try FrameLayout(.i420, width: 6, height: 4, blocks: [whole], hasColors: false).colors == [])
        #expect(together.colors.map(\.stride) == [3, 3])
        #expect(try FrameLayout(.i420, width: 6, height: 4, blocks: [luma]).colors == [])
        let lie = FrameLayout.Block(maximum: 100, offset: 99, size: 12, stride: 0)
        #expect(try FrameLayout(.nv12, width: 6, height: 4, blocks: [luma, lie]).colors == [])
    }

    /// A frame of 4 × 2 pixels of one color.
    private static let uniform: [(format: PixelFormat, bytes: [UInt8])] = [
        (.rgb, .init(repeating: [200, 100, 50], times: 8)), (.bgr, .init(repeating: [50, 100, 200], times: 8)),
        (.rgbx, .init(repeating: [200, 100, 50, 9], times: 8)), (.bgra, .init(repeating: [50, 100, 200, 9], times: 8)),
        (.xrgb, .init(repeating: [9, 200, 100, 50], times: 8)), (.xbgr, .init(repeating: [9, 50, 100, 200], times: 8)),
        // The color (200, 100, 50) in BT.601.
        (.yuy2, .init(repeating: [122, 91, 122, 177], times: 4)),
        (.uyvy, .init(repeating: [91, 122, 177, 122], times: 4)),
        (.nv12, .init(repeating: [122], times: 8) + [91, 177, 91, 177]),
        (.nv21, .init(repeating: [122], times: 8) + [177, 91, 177, 91]),
        (.i420, .init(repeating: [122], times: 8) + [91, 91, 177, 177]),
        (.yv12, .init(repeating: [122], times: 8) + [177, 177, 91, 91]),
    ]

    @Test("shows its colors in the viewfinder, at a part of the size", arguments: uniform.indices)
    func colors(index: Int) throws {
        let (format, bytes) = Self.uniform[index]
        let layout = try FrameLayout(format, width: 4, height: 2, blocks: [Self.block(bytes.count)])
        for (most, size) in [(4, 4 * 2), (3, 2 * 1), (1, 1 * 1)] {
            let preview = FramePreview(layout, offsets: [0], widthUpTo: most)
            #expect(preview.width <= most && preview.width * preview.height == size)
            let picture = try ViewfinderPicture(width: preview.width, height: preview.height) { target in
                bytes.withUnsafeBufferPointer { preview.write(from: $0, to: target) }
            }
            let pixels = picture.withPixels { Array($0) }
            for (position, value) in pixels.enumerated() {
                #expect(abs(Int(value) - [200, 100, 50][position % 3]) <= 3, "\(format): \(pixels)")
            }
        }
    }
}

extension [UInt8] {
    fileprivate init(repeating pattern: [UInt8], times: Int) { self = (0..<times).flatMap { _ in pattern } }
}
