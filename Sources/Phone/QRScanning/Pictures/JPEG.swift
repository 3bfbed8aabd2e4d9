// SPDX-License-Identifier: Apache-2.0

private import CHybridTurboJPEG

/// A decoder for JPEG (ITU-T T.81) with the TurboJPEG interface of libjpeg-turbo, which returns its errors.
enum JPEG {
    static let signature: [UInt8] = [0xFF, 0xD8, 0xFF]

    /// Decodes a picture.
    ///
    /// - Parameter size: The width and height that it must have; any if `nil`.
    static func decode(_ bytes: [UInt8], size: (width: Int, height: Int)? = nil) throws(PictureError) -> GrayPicture {
        guard let decoder = tjInitDecompress() else { throw .outOfMemory }
        defer { tjDestroy(decoder) }
        var (width, height, subsampling, colors): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        let head = tjDecompressHeader3(decoder, bytes, UInt(bytes.count), &width, &height, &subsampling, &colors)
        guard head == 0 || isWarning(decoder) else { throw .damaged(reason(decoder)) }
        guard colors != Int32(TJCS_CMYK.rawValue), colors != Int32(TJCS_YCCK.rawValue) else {
            throw .unsupportedColors
        }
        if let size, size != (Int(width), Int(height)) { throw .damaged("its size is not that of the camera") }
        return try GrayPicture(width: Int(width), height: Int(height)) { pixels throws(PictureError) in
            // The number of scans is limited: a progressive picture may have any number of them, and each takes time.
            let flags = TJFLAG_LIMITSCANS
            let gray = Int32(TJPF_GRAY.rawValue)
            let body = tjDecompress2(
                decoder,
                bytes,
                UInt(bytes.count),
                pixels.baseAddress,
                width,
                width,
                height,
                gray,
                flags
            )
            // A truncated picture is accepted; its missing part is gray.
            guard body == 0 || isWarning(decoder) else { throw .damaged(reason(decoder)) }
        }
    }

    /// Decodes a picture in colors for a viewfinder, at a fraction of its size.
    ///
    /// - Parameters:
    ///   - size: The width and height that it must have.
    ///   - most: Maximum width, if an eighth of the width is not larger.
    static func decode(
        _ bytes: [UInt8],
        size: (width: Int, height: Int),
        widthUpTo most: Int
    ) throws(PictureError) -> ViewfinderPicture {
        guard let decoder = tjInitDecompress() else { throw .outOfMemory }
        defer { tjDestroy(decoder) }
        var (width, height, subsampling, colors): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        let head = tjDecompressHeader3(decoder, bytes, UInt(bytes.count), &width, &height, &subsampling, &colors)
        guard head == 0 || isWarning(decoder) else { throw .damaged(reason(decoder)) }
        guard size == (Int(width), Int(height)) else { throw .damaged("its size is not that of the camera") }
        try GrayPicture.checkSize(size.width, size.height)
        func scaled(_ side: Int, _ eighths: Int) -> Int { (side * eighths + 7) / 8 }
        let eighths = (1...8).last { scaled(size.width, $0) <= most } ?? 1
        let (shownWidth, shownHeight) = (scaled(size.width, eighths), scaled(size.height, eighths))
        return try ViewfinderPicture(width: shownWidth, height: shownHeight) { pixels throws(PictureError) in
            let (columns, rows) = (Int32(shownWidth), Int32(shownHeight))
            let (format, flags) = (Int32(TJPF_RGB.rawValue), TJFLAG_LIMITSCANS | TJFLAG_FASTDCT)
            let start = pixels.baseAddress
            let body = tjDecompress2(
                decoder,
                bytes,
                UInt(bytes.count),
                start,
                columns,
                columns * 3,
                rows,
                format,
                flags
            )
            guard body == 0 || isWarning(decoder) else { throw .damaged(reason(decoder)) }
        }
    }

    private static func isWarning(_ decoder: tjhandle) -> Bool {
        tjGetErrorCode(decoder) == Int32(TJERR_WARNING.rawValue)
    }

    private static func reason(_ decoder: tjhandle) -> String {
        tjGetErrorStr2(decoder).map { String(cString: $0) } ?? "unreadable"
    }
}
