// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridQRScanning

/// Tests that an accepted picture is within its bounds, decodes reproducibly, and can be searched in all views.
///
/// Input that begins with a zero is a width and pixels. Any other input is a file.
func fuzzPicture(_ input: [UInt8]) throws -> Bool {
    let picture: GrayPicture
    do throws(PictureError) {
        picture = try input.first == 0 ? bare(input) : GrayPicture(decoding: input)
    } catch {
        try invariant(error != .outOfMemory, "an allowed picture fits into memory")
        return false
    }
    try invariant((1...GrayPicture.maximumSide).contains(picture.width), "its width is within bounds")
    try invariant((1...GrayPicture.maximumSide).contains(picture.height), "its height is within bounds")
    let count = picture.width * picture.height
    try invariant(count <= GrayPicture.maximumPixels, "the number of pixels is within bounds")
    try invariant(picture.withPixels { $0.count } == count, "the number of pixels matches the size")
    // A small file may contain a large picture, which would take seconds in all views.
    guard count <= 1 << 14 else { return true }
    if input.first != 0 {
        let again = try GrayPicture(decoding: input)
        let isSame = picture.withPixels { one in again.withPixels { another in one.elementsEqual(another) } }
        try invariant(isSame, "the result does not depend on previous contents of memory")
    }
    for view in PictureView.all(of: picture) {
        let shown = try view.applied(to: picture)
        try invariant(max(shown.width, shown.height) <= CodeSearch.longestSide, "a view is within zbar's limits")
        for text in try CodeSearch().texts(in: shown) {
            try invariant(text.withBytes { $0.count } <= 7089, "a text has the maximum length of a QR code")
        }
    }
    return true
}

private func bare(_ input: [UInt8]) throws(PictureError) -> GrayPicture {
    let pixels = input.dropFirst(2)
    let width = max(1, Int(input.dropFirst().first ?? 1))
    let height = pixels.count / width
    return try pixels.prefix(width * height).withUnsafeBytes { pixels in
        Result { () throws(PictureError) in try GrayPicture(width: width, height: height, pixels: pixels) }
    }.get()
}
