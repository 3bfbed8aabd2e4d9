// SPDX-License-Identifier: Apache-2.0

private import CHybridZBar

/// A search for QR codes in a picture.
///
/// zbar finds only codes that are large, dark on light, sharp and not too noisy. The search therefore tries several
/// views of a picture: the whole picture, inverted, smoothed and reduced versions of it, and enlarged parts. It ends
/// with the first view that shows a matching code.
package struct CodeSearch: ~Copyable {
    /// zbar's format Y800: one byte of gray per pixel.
    static let pixelFormat =
        UInt(UInt8(ascii: "Y")) | UInt(UInt8(ascii: "8")) << 8
        | UInt(UInt8(ascii: "0")) << 16 | UInt(UInt8(ascii: "0")) << 24

    /// Maximum width and height in pixels for zbar, which multiplies coordinates in quarter pixels as 32-bit integers.
    static let longestSide = 4096

    private let scanner: OpaquePointer

    /// Creates a search for QR codes.
    ///
    /// Other symbologies are disabled, because zbar falsely detects bar codes in text and stripes.
    ///
    /// - Throws: ``PictureError/outOfMemory``.
    init() throws(PictureError) {
        guard let scanner = zbar_image_scanner_create() else { throw .outOfMemory }
        self.scanner = scanner
        zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_ENABLE, 0)
        zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_ENABLE, 1)
    }

    deinit { zbar_image_scanner_destroy(scanner) }

    /// The result of a search.
    package struct Finding: Sendable {
        /// Matching codes, without duplicates.
        package let wanted: [ScannedText]
        /// True if the picture also shows QR codes that do not match.
        package let showsOthers: Bool
        /// True if the picture is almost black; only for frames of a camera.
        var isDark = false

        /// Returns the finding with fewer matching codes.
        func filtered(_ isWanted: (ScannedText) -> Bool) -> Finding {
            let fewer = wanted.filter(isWanted)
            return Finding(wanted: fewer, showsOthers: showsOthers || fewer.count < wanted.count, isDark: isDark)
        }
    }

    /// Searches the whole picture without other views, which is fast enough for the frames of a camera.
    func codesInWholePicture(
        in picture: GrayPicture,
        where isWanted: (ScannedText) -> Bool
    ) throws(PictureError) -> Finding {
        let whole = PictureView(scale: .reduced(by: PictureView.fit(picture)))
        var finding = try codes(in: picture, views: [whole], where: isWanted)
        finding.isDark = picture.isDark
        return finding
    }

    /// Searches these views until one has a matching code.
    func codes(
        in picture: GrayPicture,
        views: [PictureView],
        where isWanted: (ScannedText) -> Bool
    ) throws(PictureError) -> Finding {
        var showsOthers = false
        for view in views {
            let texts = try texts(in: try view.applied(to: picture))
            let wanted = texts.filter(isWanted)
            if wanted.count < texts.count { showsOthers = true }
            if !wanted.isEmpty { return Finding(wanted: wanted, showsOthers: showsOthers) }
        }
        return Finding(wanted: [], showsOthers: showsOthers)
    }

    /// Returns the texts of all codes in a picture with sides up to ``longestSide``.
    func texts(in picture: GrayPicture) throws(PictureError) -> [ScannedText] {
        guard let image = zbar_image_create() else { throw .outOfMemory }
        defer { zbar_image_destroy(image) }
        zbar_image_set_format(image, Self.pixelFormat)
        zbar_image_set_size(image, UInt32(picture.width), UInt32(picture.height))
        return picture.withPixels { pixels in
            // There is no cleanup handler, because the picture owns the pixels.
            zbar_image_set_data(image, pixels.baseAddress, UInt(pixels.count), nil)
            defer { zbar_image_set_data(image, nil, 0, nil) }
            guard zbar_scan_image(scanner, image) > 0 else { return [] }
            var texts: [ScannedText] = []
            var symbol = zbar_image_first_symbol(image)
            while let current = symbol {
                if zbar_symbol_get_type(current) == ZBAR_QRCODE, let data = zbar_symbol_get_data(current) {
                    let count = Int(zbar_symbol_get_data_length(current))
                    let text = ScannedText(UnsafeRawBufferPointer(start: data, count: count))
                    if !texts.contains(where: { $0.matches(text) }) { texts.append(text) }
                }
                symbol = zbar_symbol_next(current)
            }
            return texts
        }
    }
}
