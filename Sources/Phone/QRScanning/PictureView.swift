// SPDX-License-Identifier: Apache-2.0

/// A transformation of a picture that helps zbar find codes.
struct PictureView: Hashable {
    /// The size relative to the original.
    enum Scale: Hashable {
        /// Reduces each square with this side length in pixels to one pixel.
        case reduced(by: Int)
        /// Doubles width and height.
        case doubled
    }

    /// A square part of a picture, with its upper left corner and its side length in pixels.
    struct Part: Hashable {
        let x: Int
        let y: Int
        let side: Int
    }

    /// The part; `nil` for the whole picture.
    var part: Part?
    var scale = Scale.reduced(by: 1)
    /// True to remove noise and JPEG artifacts, which look like edges.
    var isSmoothed = false
    /// True to invert the picture, for codes that are light on dark.
    var isNegative = false

    /// Returns the transformed picture.
    func applied(to picture: GrayPicture) throws(PictureError) -> GrayPicture {
        var view = picture
        if let part { view = try view.cropped(x: part.x, y: part.y, side: part.side) }
        switch scale {
        case .reduced(let factor): view = try view.reduced(by: factor)
        case .doubled: view = try view.doubled()
        }
        if isSmoothed { view = try view.smoothed() }
        if isNegative { view = try view.inverted() }
        return view
    }

    /// Returns the smallest reduction factor that makes a picture fit zbar's limits.
    static func fit(_ picture: GrayPicture) -> Int {
        let longest = max(picture.width, picture.height)
        return (longest + CodeSearch.longestSide - 1) / CodeSearch.longestSide
    }

    /// Returns all views; those that are fast or likely to succeed are first.
    static func all(of picture: GrayPicture) -> [PictureView] {
        let fit = fit(picture)
        let base = PictureView(scale: .reduced(by: fit))
        var views = [
            base, PictureView(scale: base.scale, isNegative: true), PictureView(scale: base.scale, isSmoothed: true),
            PictureView(scale: base.scale, isSmoothed: true, isNegative: true),
        ]
        views += [2, 3, 5].map { PictureView(scale: .reduced(by: fit * $0)) }
        views.append(PictureView(scale: .reduced(by: fit * 3), isNegative: true))
        let parts = parts(of: picture, side: fit == 1 ? CodeSearch.longestSide / 2 : CodeSearch.longestSide)
        for part in parts {
            // If the picture exceeds zbar's limit, its parts are already as large as zbar allows.
            let scale: Scale = fit == 1 ? .doubled : .reduced(by: 1)
            views.append(PictureView(part: part, scale: scale))
            views.append(PictureView(part: part, scale: scale, isSmoothed: true))
            views.append(PictureView(part: part, scale: scale, isNegative: true))
        }
        return views
    }

    /// Returns parts that overlap by a quarter, so that a code on the edge of one part is inside another.
    private static func parts(of picture: GrayPicture, side: Int) -> [Part] {
        func starts(_ length: Int) -> [Int] {
            guard length > side else { return [0] }
            return Array(stride(from: 0, to: length - side, by: side * 3 / 4)) + [length - side]
        }
        return starts(picture.height).flatMap { y in
            starts(picture.width).map { x in Part(x: x, y: y, side: side) }
        }
    }
}
