// SPDX-License-Identifier: Apache-2.0

extension GreyPicture {
    /// The most bytes of a file; a PNG of ``maximumPixels`` photographed in colour has about as many.
    public static let maximumFileBytes = 150 << 20

    /// Reads a PNG or JPEG; the first bytes decide which, not a name.
    ///
    /// - Throws: ``PictureError``. Neither decoder ends the program: both are called by their simple interfaces, which
    ///   return their errors.
    public init(decoding bytes: [UInt8]) throws(PictureError) {
        guard !bytes.isEmpty else { throw .empty }
        if bytes.starts(with: PNG.signature) {
            self = try PNG.decode(bytes)
        } else if bytes.starts(with: JPEG.signature) {
            self = try JPEG.decode(bytes)
        } else {
            throw .unknownFormat
        }
    }
}
