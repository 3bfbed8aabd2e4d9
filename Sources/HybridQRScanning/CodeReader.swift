// SPDX-License-Identifier: Apache-2.0

private import CHybridZBar

/// zbar's scanner of pictures, for QR codes alone.
///
/// Its other symbologies are off: bar codes are found in text and stripes where there are none, and nobody asks for
/// them.
struct CodeReader: ~Copyable {
    /// zbar's Y800: a byte of grey to a pixel.
    static let grey =
        UInt(UInt8(ascii: "Y")) | UInt(UInt8(ascii: "8")) << 8
        | UInt(UInt8(ascii: "0")) << 16 | UInt(UInt8(ascii: "0")) << 24

    /// The longest side of what zbar gets: it counts in 32 bits, four steps to a pixel, and multiplies two of them.
    static let longestSide = 4096

    private let scanner: OpaquePointer

    /// Throws ``PictureError/outOfMemory``.
    init() throws(PictureError) {
        guard let scanner = zbar_image_scanner_create() else { throw .outOfMemory }
        self.scanner = scanner
        zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_ENABLE, 0)
        zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_ENABLE, 1)
    }

    deinit { zbar_image_scanner_destroy(scanner) }

    /// The texts of all codes that zbar sees in a picture whose sides are ``longestSide`` at most.
    func texts(in picture: GreyPicture) throws(PictureError) -> [ScannedText] {
        guard let image = zbar_image_create() else { throw .outOfMemory }
        defer { zbar_image_destroy(image) }
        zbar_image_set_format(image, Self.grey)
        zbar_image_set_size(image, UInt32(picture.width), UInt32(picture.height))
        return picture.withPixels { pixels in
            // No clean-up handler: the pixels stay the picture's.
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
