// SPDX-License-Identifier: Apache-2.0

private import CHybridZBar

/// zbar's image scanner, restricted to QR codes.
///
/// Other symbologies are disabled because zbar falsely detects bar codes in text and stripes.
struct CodeReader: ~Copyable {
    /// zbar's format Y800: one byte of gray per pixel.
    static let pixelFormat =
        UInt(UInt8(ascii: "Y")) | UInt(UInt8(ascii: "8")) << 8
        | UInt(UInt8(ascii: "0")) << 16 | UInt(UInt8(ascii: "0")) << 24

    /// Maximum width and height for zbar, which multiplies two coordinates in quarter pixels as 32-bit integers.
    static let longestSide = 4096

    private let scanner: OpaquePointer

    /// Creates a reader.
    ///
    /// - Throws: ``PictureError/outOfMemory``.
    init() throws(PictureError) {
        guard let scanner = zbar_image_scanner_create() else { throw .outOfMemory }
        self.scanner = scanner
        zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_ENABLE, 0)
        zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_ENABLE, 1)
    }

    deinit { zbar_image_scanner_destroy(scanner) }

    /// Returns the texts of all codes in a picture with sides up to ``longestSide``.
    func texts(in picture: GrayPicture) throws(PictureError) -> [ScannedText] {
        guard let image = zbar_image_create() else { throw .outOfMemory }
        defer { zbar_image_destroy(image) }
        zbar_image_set_format(image, Self.pixelFormat)
        zbar_image_set_size(image, UInt32(picture.width), UInt32(picture.height))
        return picture.withPixels { pixels in
            // No cleanup handler: the picture owns the pixels.
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
