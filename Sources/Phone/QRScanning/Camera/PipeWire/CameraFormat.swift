// SPDX-License-Identifier: Apache-2.0

internal import CHybridPipeWire

/// The format on which a camera and this program have agreed.
struct CameraFormat: Hashable, Sendable {
    /// The pixel format; `nil` for JPEG.
    let pixels: PixelFormat?
    let width: Int
    let height: Int

    /// Creates a format; `nil` if it is none that was offered.
    init?(_ agreed: hybrid_video_format) {
        if agreed.is_jpeg {
            pixels = nil
        } else {
            guard let known = PixelFormat.allCases.first(where: { $0.identifier == agreed.format }) else { return nil }
            pixels = known
        }
        (width, height) = (Int(agreed.width), Int(agreed.height))
    }
}

extension PixelFormat {
    /// The number of the format in PipeWire.
    var identifier: UInt32 {
        let format =
            switch self {
            case .gray8: SPA_VIDEO_FORMAT_GRAY8
            case .nv12: SPA_VIDEO_FORMAT_NV12
            case .nv21: SPA_VIDEO_FORMAT_NV21
            case .i420: SPA_VIDEO_FORMAT_I420
            case .yv12: SPA_VIDEO_FORMAT_YV12
            case .yuy2: SPA_VIDEO_FORMAT_YUY2
            case .uyvy: SPA_VIDEO_FORMAT_UYVY
            case .rgbx: SPA_VIDEO_FORMAT_RGBx
            case .bgrx: SPA_VIDEO_FORMAT_BGRx
            case .rgba: SPA_VIDEO_FORMAT_RGBA
            case .bgra: SPA_VIDEO_FORMAT_BGRA
            case .xrgb: SPA_VIDEO_FORMAT_xRGB
            case .xbgr: SPA_VIDEO_FORMAT_xBGR
            case .rgb: SPA_VIDEO_FORMAT_RGB
            case .bgr: SPA_VIDEO_FORMAT_BGR
            }
        return format.rawValue
    }
}
