// SPDX-License-Identifier: Apache-2.0

/// A way to look at a picture.
struct PictureView: Hashable {
    /// How large it is seen.
    enum Scale: Hashable {
        /// Each pixel the mean of a square with this side; 1 is as it is.
        case reduced(by: Int)
        /// Twice as wide and high.
        case doubled
    }

    /// A square part, by its upper left corner; `nil` for all of it.
    struct Part: Hashable {
        let x: Int
        let y: Int
        let side: Int
    }

    var part: Part?
    var scale = Scale.reduced(by: 1)
    /// Against noise and the marks of a JPEG, which otherwise make edges where there are none.
    var isSmoothed = false
    /// For codes light on dark, as in dark themes.
    var isNegative = false

    func view(of picture: GreyPicture) throws(PictureError) -> GreyPicture {
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

    /// The smallest factor that makes a picture fit zbar.
    static func fit(_ picture: GreyPicture) -> Int {
        let longest = max(picture.width, picture.height)
        return (longest + CodeReader.longestSide - 1) / CodeReader.longestSide
    }

    /// All of them, in the order of what they cost and how often they help.
    static func all(of picture: GreyPicture) -> [PictureView] {
        let fit = fit(picture)
        let base = PictureView(scale: .reduced(by: fit))
        var looks = [
            base, PictureView(scale: base.scale, isNegative: true), PictureView(scale: base.scale, isSmoothed: true),
            PictureView(scale: base.scale, isSmoothed: true, isNegative: true),
        ]
        looks += [2, 3, 5].map { PictureView(scale: .reduced(by: fit * $0)) }
        looks.append(PictureView(scale: .reduced(by: fit * 3), isNegative: true))
        let parts = parts(of: picture, side: fit == 1 ? CodeReader.longestSide / 2 : CodeReader.longestSide)
        for part in parts {
            // Of a picture that had to be reduced, parts are closer already.
            let scale: Scale = fit == 1 ? .doubled : .reduced(by: 1)
            looks.append(PictureView(part: part, scale: scale))
            looks.append(PictureView(part: part, scale: scale, isSmoothed: true))
            looks.append(PictureView(part: part, scale: scale, isNegative: true))
        }
        return looks
    }

    /// Parts that overlap by a quarter, so that a code on the edge of one is inside another.
    private static func parts(of picture: GreyPicture, side: Int) -> [Part] {
        func starts(_ length: Int) -> [Int] {
            guard length > side else { return [0] }
            return Array(stride(from: 0, to: length - side, by: side * 3 / 4)) + [length - side]
        }
        return starts(picture.height).flatMap { y in
            starts(picture.width).map { x in Part(x: x, y: y, side: side) }
        }
    }
}
