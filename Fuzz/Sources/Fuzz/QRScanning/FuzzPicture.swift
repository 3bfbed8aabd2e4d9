// SPDX-License-Identifier: Apache-2.0

@testable import HybridQRScanning

/// A picture that is taken keeps to its bounds, looks the same twice, and can be looked at in every way.
///
/// What begins with a zero is the pixels of a picture, behind its width; anything else is a file.
func fuzzPicture(_ input: [UInt8]) throws -> Bool {
    let picture: GreyPicture
    do {
        picture = try input.first == 0 ? bare(input) : GreyPicture(decoding: input)
    } catch PictureError.outOfMemory {
        throw BrokenInvariant(description: "broken: what is allowed fits into memory")
    } catch {
        return false
    }
    try invariant((1...GreyPicture.maximumSide).contains(picture.width), "its width is within bounds")
    try invariant((1...GreyPicture.maximumSide).contains(picture.height), "its height is within bounds")
    let count = picture.width * picture.height
    try invariant(count <= GreyPicture.maximumPixels, "so are its pixels")
    try invariant(picture.withPixels { $0.count } == count, "it has as many as it says")
    // A few bytes may say a large picture, of which looking at it in all ways would take seconds.
    guard count <= 1 << 14 else { return true }
    if input.first != 0 {
        let again = try GreyPicture(decoding: input)
        let isSame = picture.withPixels { one in again.withPixels { another in one.elementsEqual(another) } }
        try invariant(isSame, "nothing of it depends on what was in memory before")
    }
    for look in PictureView.all(of: picture) {
        let view = try look.view(of: picture)
        try invariant(max(view.width, view.height) <= CodeReader.longestSide, "zbar can count a view's pixels")
        for text in try CodeReader().texts(in: view) {
            try invariant(text.withBytes { $0.count } <= 7089, "no QR code holds more")
        }
    }
    return true
}

private func bare(_ input: [UInt8]) throws -> GreyPicture {
    let pixels = input.dropFirst(2)
    let width = max(1, Int(input.dropFirst().first ?? 1))
    let height = pixels.count / width
    return try pixels.prefix(width * height).withUnsafeBytes {
        try GreyPicture(width: width, height: height, pixels: $0)
    }
}
