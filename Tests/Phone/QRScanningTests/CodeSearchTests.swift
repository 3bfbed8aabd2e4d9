// SPDX-License-Identifier: Apache-2.0

import HybridQRCode
import TestSupport
import Testing

@testable import HybridQRScanning

extension CodeSearch.Finding {
    /// Texts of the matching codes.
    var texts: [String] { wanted.map { text in text.withBytes { String(decoding: $0, as: UTF8.self) } } }
}

/// Searches a picture for sign-in codes.
func find(_ bytes: [UInt8]) throws -> CodeSearch.Finding {
    try find(in: GrayPicture(decoding: bytes))
}

/// Returns the sign-in codes of a picture.
func find(in picture: GrayPicture) throws -> CodeSearch.Finding {
    let views = PictureView.all(of: picture)
    return try CodeSearch()
        .codes(in: picture, views: views, where: { $0.begins(with: "FIDO:/") })
}

@Suite("Codes in pictures")
struct CodeSearchTests {
    @Test(
        "are read from a screenshot of a desktop with 8 to 10 % of its width",
        arguments: [0.08, 0.09, 0.1]
    )
    func desktop(share: Double) throws {
        var random = SeededGenerator(seed: UInt64(share * 1000))
        let text = link(&random)
        var canvas = Canvas.desktop(width: 1920, height: 1080, using: &random)
        canvas.draw(try QRMatrix(text: text), Pose(x: 1130, y: 420, side: 1920 * share))
        #expect(try find(canvas.png()).texts == [text])
    }

    @Test("are read with light modules and without a background, as for dark pages")
    func transparent() throws {
        var random = SeededGenerator(seed: 7)
        let text = link(&random)
        var canvas = Canvas(width: 400, height: 400)
        canvas.draw(try QRMatrix(text: text), Pose(x: 200, y: 200, side: 300))
        let pixels = canvas.pixels.flatMap { gray -> [UInt8] in gray < 128 ? [255, 255] : [0, 0] }
        let bytes = try PictureWriting.png(400, 400, format: 1, pixels)
        let finding = try CodeSearch.codes(inFile: bytes) { $0.begins(with: "FIDO:/") }
        #expect(finding.texts == [text])
    }

    @Test("are read with a rotation of 20°", arguments: [-20.0, 20])
    func turned(angle: Double) throws {
        var random = SeededGenerator(seed: 20)
        let text = link(&random)
        var canvas = Canvas.desktop(width: 1920, height: 1080, using: &random)
        canvas.draw(try QRMatrix(text: text), Pose(x: 800, y: 500, side: 175, turn: angle))
        #expect(try find(canvas.png()).texts == [text])
    }

    @Test("are read from a photograph at 25°, blurred with σ = 1, in a JPEG of quality 60", arguments: [45.0, 135])
    func tilted(axis: Double) throws {
        var random = SeededGenerator(seed: 25)
        let text = link(&random)
        var canvas = Canvas.desktop(width: 1280, height: 960, using: &random)
        canvas.draw(try QRMatrix(text: text), Pose(x: 640, y: 480, side: 320, tilt: 25, axis: axis))
        #expect(try find(canvas.blurred().jpeg(quality: 60)).texts == [text])
    }

    @Test("are read from a desktop with all of these distortions")
    func everything() throws {
        var random = SeededGenerator(seed: 45)
        let text = link(&random)
        var canvas = Canvas.desktop(width: 1920, height: 1080, using: &random)
        canvas.draw(try QRMatrix(text: text), Pose(x: 900, y: 600, side: 1920 * 0.09, turn: 20, tilt: 25))
        #expect(try find(canvas.blurred().jpeg(quality: 60)).texts == [text])
    }

    @Test("are read light on dark")
    func negative() throws {
        var random = SeededGenerator(seed: 3)
        let text = link(&random)
        var canvas = Canvas.desktop(width: 800, height: 600, using: &random)
        canvas.draw(try QRMatrix(text: text), Pose(x: 400, y: 300, side: 200))
        #expect(try find(canvas.negative.png()).texts == [text])
    }

    @Test("are read in small size from a picture beyond zbar's limits")
    func wide() throws {
        var random = SeededGenerator(seed: 4)
        let text = link(&random)
        var canvas = Canvas(width: 9000, height: 300, shade: 240)
        canvas.draw(try QRMatrix(text: text), Pose(x: 6100, y: 150, side: 110))
        let picture = try GrayPicture(decoding: canvas.png())
        #expect(PictureView.fit(picture) == 3)
        #expect(try CodeSearch().codesInWholePicture(in: picture) { $0.begins(with: "FIDO:/") }.texts == [])
        #expect(try find(in: picture).texts == [text])
    }

    @Test("are read from noisy and pale photographs, which requires several views", arguments: [1, 2, 3] as [UInt64])
    func secondLook(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let text = link(&random)
        var canvas = Canvas.desktop(width: 900, height: 700, using: &random)
        canvas.draw(try QRMatrix(text: text), Pose(x: 450, y: 350, side: 500, turn: 8), dark: 40, light: 210)
        let bytes = try canvas.blurred(variance: 4).noisy(60, using: &random).jpeg(quality: 40)
        let picture = try GrayPicture(decoding: bytes)
        #expect(try CodeSearch().codesInWholePicture(in: picture) { $0.begins(with: "FIDO:/") }.texts == [])
        #expect(try find(in: picture).texts == [text])
    }

    @Test("are returned only if they match, and without repetition")
    func others() throws {
        var random = SeededGenerator(seed: 5)
        let (text, another) = (link(&random), link(&random))
        var canvas = Canvas.desktop(width: 1200, height: 500, using: &random)
        canvas.draw(try QRMatrix(text: "HTTPS://EXAMPLE.COM/1"), Pose(x: 150, y: 250, side: 180))
        let poster = try find(canvas.png())
        #expect(poster.texts == [] && poster.showsOthers)
        canvas.draw(try QRMatrix(text: text), Pose(x: 450, y: 250, side: 200))
        canvas.draw(try QRMatrix(text: text), Pose(x: 750, y: 250, side: 200))
        #expect(try find(canvas.png()).texts == [text])
        canvas.draw(try QRMatrix(text: another), Pose(x: 1050, y: 250, side: 200))
        #expect(try Set(find(canvas.png()).texts) == [text, another])
    }

    @Test("are not found in pictures without codes")
    func none() throws {
        var random = SeededGenerator(seed: 6)
        let canvas = Canvas.desktop(width: 640, height: 480, using: &random)
        let finding = try find(canvas.png())
        #expect(finding.texts == [] && !finding.showsOthers)
    }

    @Test("are read in random screenshots and photographs")
    func random() throws {
        var random = SeededGenerator()
        for _ in 0..<10 {
            let text = link(&random)
            let isPhotograph = random.number(0...1) == 1
            var canvas = Canvas.desktop(width: 1000, height: 750, using: &random)
            var pose = Pose(
                x: Double(random.number(420...580)),
                y: Double(random.number(330...420)),
                side: Double(random.number(isPhotograph ? 230...420 : 154...192))
            )
            if isPhotograph {
                pose.turn = Double(random.number(-20...20))
                pose.tilt = Double(random.number(0...25))
                pose.axis = Double(random.number(0...180))
            }
            canvas.draw(try QRMatrix(text: text), pose)
            let bytes = try isPhotograph ? canvas.blurred().jpeg(quality: 60) : canvas.png()
            #expect(try find(bytes).texts == [text], "\(pose), photograph: \(isPhotograph), \(random)")
        }
    }
}
