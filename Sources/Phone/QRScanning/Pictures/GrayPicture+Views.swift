// SPDX-License-Identifier: Apache-2.0

// Transformations for `PictureView`.
extension GrayPicture {
    /// Returns a smaller picture, in which each pixel is the mean of `factor` × `factor` pixels.
    ///
    /// Incomplete squares on the right and at the bottom are dropped.
    func reduced(by factor: Int) throws(PictureError) -> GrayPicture {
        guard factor > 1 else { return self }
        // A picture may have fewer rows or columns than the factor, such as 12,000 × 1 pixels.
        let (across, down) = (min(factor, width), min(factor, height))
        let (newWidth, newHeight) = (width / across, height / down)
        return try GrayPicture(width: newWidth, height: newHeight) { target throws(PictureError) in
            withPixels { source in
                for row in 0..<newHeight {
                    for column in 0..<newWidth {
                        var sum = 0
                        for y in 0..<down {
                            let start = (row * down + y) * width + column * across
                            for x in 0..<across { sum += Int(source[start + x]) }
                        }
                        target[row * newWidth + column] = UInt8(sum / (across * down))
                    }
                }
            }
        }
    }

    /// Returns a picture of twice the width and height, with interpolated pixels.
    func doubled() throws(PictureError) -> GrayPicture {
        try GrayPicture(width: width * 2, height: height * 2) { target throws(PictureError) in
            withPixels { source in
                for y in 0..<(height * 2) {
                    let (top, bottom) = (y / 2, min(y / 2 + y % 2, height - 1))
                    for x in 0..<(width * 2) {
                        let (left, right) = (x / 2, min(x / 2 + x % 2, width - 1))
                        let sum =
                            Int(source[top * width + left]) + Int(source[top * width + right])
                            + Int(source[bottom * width + left]) + Int(source[bottom * width + right])
                        target[y * width * 2 + x] = UInt8(sum / 4)
                    }
                }
            }
        }
    }

    /// Returns a picture in which each pixel is the mean of itself and its neighbors.
    func smoothed() throws(PictureError) -> GrayPicture {
        try GrayPicture(width: width, height: height) { target throws(PictureError) in
            withPixels { source in
                for y in 0..<height {
                    let rows = max(y - 1, 0)...min(y + 1, height - 1)
                    for x in 0..<width {
                        let columns = max(x - 1, 0)...min(x + 1, width - 1)
                        var sum = 0
                        for row in rows {
                            for column in columns { sum += Int(source[row * width + column]) }
                        }
                        target[y * width + x] = UInt8(sum / (rows.count * columns.count))
                    }
                }
            }
        }
    }

    /// Returns the negative of the picture.
    func inverted() throws(PictureError) -> GrayPicture {
        try GrayPicture(width: width, height: height) { target throws(PictureError) in
            withPixels { source in
                for index in 0..<target.count { target[index] = 255 - source[index] }
            }
        }
    }

    /// Returns a square part, clipped to the bounds of the picture.
    func cropped(x: Int, y: Int, side: Int) throws(PictureError) -> GrayPicture {
        let (left, top) = (min(max(x, 0), width - 1), min(max(y, 0), height - 1))
        let (newWidth, newHeight) = (min(side, width - left), min(side, height - top))
        return try GrayPicture(width: newWidth, height: newHeight) { target throws(PictureError) in
            withPixels { source in
                for row in 0..<newHeight {
                    let start = (top + row) * width + left
                    for column in 0..<newWidth { target[row * newWidth + column] = source[start + column] }
                }
            }
        }
    }
}
