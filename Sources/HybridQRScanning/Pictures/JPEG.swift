// SPDX-License-Identifier: Apache-2.0

private import CHybridTurboJPEG

/// JPEG (ITU-T T.81), read by the TurboJPEG interface of libjpeg-turbo, which returns its errors.
enum JPEG {
    static let signature: [UInt8] = [0xFF, 0xD8, 0xFF]

    static func decode(_ bytes: [UInt8]) throws(PictureError) -> GreyPicture {
        guard let decoder = tjInitDecompress() else { throw .outOfMemory }
        defer { tjDestroy(decoder) }
        var (width, height, subsampling, colours): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        let head = tjDecompressHeader3(
            decoder,
            bytes,
            UInt(bytes.count),
            &width,
            &height,
            &subsampling,
            &colours
        )
        guard head == 0 || isWarning(decoder) else { throw .damaged(reason(decoder)) }
        guard colours != Int32(TJCS_CMYK.rawValue), colours != Int32(TJCS_YCCK.rawValue) else {
            throw .printersColours
        }
        return try GreyPicture(width: Int(width), height: Int(height)) { pixels throws(PictureError) in
            // A progressive picture may have any number of scans, each of which costs as much as the first.
            let flags = TJFLAG_LIMITSCANS
            let grey = Int32(TJPF_GRAY.rawValue)
            let body = tjDecompress2(
                decoder,
                bytes,
                UInt(bytes.count),
                pixels.baseAddress,
                width,
                width,
                height,
                grey,
                flags
            )
            // Of a picture that breaks off, what is there is looked at: the rest stays grey.
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
