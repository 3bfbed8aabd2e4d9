// SPDX-License-Identifier: Apache-2.0

/// A pixel format of cameras without compression; the names are PipeWire's.
enum PixelFormat: Hashable, Sendable, CaseIterable {
    case gray8
    /// The luma, then a plane of color pairs for each four pixels; `nv21` has red first.
    case nv12, nv21
    /// The luma, then two planes of colors, each with a quarter of the samples; `yv12` has red first.
    case i420, yv12
    /// Pairs of pixels, which share their colors.
    case yuy2, uyvy
    /// Red, green and blue in the order of the name, and one byte that does not matter.
    case rgbx, bgrx, rgba, bgra, xrgb, xbgr
    /// Red, green and blue in the order of the name.
    case rgb, bgr

    /// The arrangement of samples in memory.
    enum Family: Hashable, Sendable {
        case gray, pairedPlane, twoPlanes, pairs, colors
    }

    var family: Family {
        switch self {
        case .gray8: .gray
        case .nv12, .nv21: .pairedPlane
        case .i420, .yv12: .twoPlanes
        case .yuy2, .uyvy: .pairs
        case .rgbx, .bgrx, .rgba, .bgra, .xrgb, .xbgr, .rgb, .bgr: .colors
        }
    }

    /// Bytes from one pixel of the first plane to the next.
    var pixelStep: Int {
        switch self {
        case .gray8, .nv12, .nv21, .i420, .yv12: 1
        case .yuy2, .uyvy: 2
        case .rgb, .bgr: 3
        case .rgbx, .bgrx, .rgba, .bgra, .xrgb, .xbgr: 4
        }
    }

    /// The position, within a pixel of the first plane, of the byte that stands for its brightness: the luma, or green.
    var grayOffset: Int {
        switch self {
        case .gray8, .nv12, .nv21, .i420, .yv12, .yuy2: 0
        case .uyvy, .rgbx, .bgrx, .rgba, .bgra, .rgb, .bgr: 1
        case .xrgb, .xbgr: 2
        }
    }

    /// The positions of red and blue within a pixel; only for ``Family/colors``.
    var redAndBlueOffsets: (red: Int, blue: Int) {
        switch self {
        case .xrgb: (1, 3)
        case .xbgr: (3, 1)
        case .bgr, .bgrx, .bgra: (2, 0)
        default: (0, 2)
        }
    }

    /// True if the red color sample comes before the blue one; only for formats with luma.
    var hasRedFirst: Bool { self == .nv21 || self == .yv12 }

    /// Bytes of a row of the first plane without padding.
    func rowBytes(width: Int) -> Int { family == .pairs ? (width + 1) / 2 * 4 : width * pixelStep }
}
