// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridQRScanning

@Suite("Views of a picture")
struct ViewTests {
    private func picture(_ width: Int, _ pixels: [UInt8]) throws -> GrayPicture {
        try pixels.withUnsafeBytes { bytes in
            try GrayPicture(width: width, height: bytes.count / width, pixels: bytes)
        }
    }

    private func rows(_ picture: GrayPicture) -> [[UInt8]] {
        picture.withPixels { pixels in
            (0..<picture.height).map { Array(pixels[($0 * picture.width)..<(($0 + 1) * picture.width)]) }
        }
    }

    @Test("in reduced size are means of complete squares")
    func reduced() throws {
        let picture = try picture(5, [0, 10, 20, 30, 99, 10, 20, 30, 40, 99, 99, 99, 99, 99, 99])
        #expect(try rows(picture.reduced(by: 2)) == [[10, 30]])
        #expect(try rows(picture.reduced(by: 1)) == rows(picture))
        #expect(try rows(picture.reduced(by: 4)) == [[46]], "the square is limited to the picture")
    }

    @Test("in double size have interpolated pixels")
    func doubled() throws {
        #expect(
            try rows(picture(2, [0, 100, 200, 40]).doubled()) == [
                [0, 50, 100, 100], [100, 85, 70, 70], [200, 120, 40, 40], [200, 120, 40, 40],
            ]
        )
    }

    @Test("with smoothing are means of neighbors")
    func smoothed() throws {
        let picture = try picture(3, [0, 0, 0, 0, 90, 0, 0, 0, 0])
        #expect(try rows(picture.smoothed()) == [[22, 15, 22], [15, 10, 15], [22, 15, 22]])
    }

    @Test("can be inverted and cropped")
    func others() throws {
        let picture = try picture(3, [1, 2, 3, 4, 5, 6])
        #expect(try rows(picture.inverted()) == [[254, 253, 252], [251, 250, 249]])
        #expect(try rows(picture.cropped(x: 1, y: 0, side: 2)) == [[2, 3], [5, 6]])
        #expect(try rows(picture.cropped(x: 2, y: 1, side: 9)) == [[6]])
        #expect(try rows(picture.cropped(x: -5, y: 99, side: 2)) == [[4, 5]])
    }

    @Test("never exceed zbar's limits, and parts leave no gap, for any size")
    func views() throws {
        var random = SeededGenerator()
        for _ in 0..<20 {
            let (width, height) = (random.number(1...9000), random.number(1...6))
            let picture = try picture(width, [UInt8](repeating: 0, count: width * height))
            var covered = Set<Int>()
            for view in PictureView.all(of: picture) {
                let shown = try view.applied(to: picture)
                #expect(max(shown.width, shown.height) <= CodeSearch.longestSide, "\(random)")
                if let part = view.part { covered.formUnion(part.x..<min(part.x + part.side, width)) }
            }
            #expect(covered == Set(0..<width), "\(width) × \(height), \(random)")
        }
    }
}
