// SPDX-License-Identifier: Apache-2.0

import CHybridTurboJPEG
import HybridQRCode
import TestSupport
import Testing

@testable import HybridQRScanning

@Suite("Picture files")
struct PictureTests {
    private func failure(_ bytes: [UInt8]) -> PictureError? {
        do throws(PictureError) {
            _ = try GrayPicture(decoding: bytes)
            return nil
        } catch {
            return error
        }
    }

    private func pixels(_ bytes: [UInt8]) throws -> [UInt8] {
        try GrayPicture(decoding: bytes).withPixels { Array($0) }
    }

    /// A small picture with a gradient.
    private let slope: Canvas = {
        var canvas = Canvas(width: 16, height: 8)
        for y in 0..<8 {
            for x in 0..<16 { canvas[x, y] = UInt8(x * 8 + y * 16) }
        }
        return canvas
    }()

    @Test("in grayscale survive the round trip, and in color approximately")
    func faithful() throws {
        let picture = try GrayPicture(decoding: slope.png())
        #expect(picture.width == 16 && picture.height == 8)
        #expect(try pixels(slope.png()) == slope.pixels)
        for bytes in try [slope.colorPNG(), slope.jpeg(quality: 100), slope.colorJPEG(quality: 100)] {
            for (read, written) in zip(try pixels(bytes), slope.pixels) { #expect(abs(Int(read) - Int(written)) <= 4) }
        }
    }

    @Test("have white instead of transparent pixels")
    func transparent() throws {
        let bytes = try PictureWriting.png(2, 1, format: 1, [0, 255, 0, 0])
        #expect(try pixels(bytes) == [0, 255])
    }

    @Test("are distinguished by their contents")
    func formats() throws {
        #expect(failure([]) == .empty)
        for (start, name) in [
            ("GIF89a", "GIF"), ("RIFF\u{1}\u{2}\u{3}\u{4}WEBPVP8 ", "WebP"), ("BM6", "BMP"), ("%PDF-1.7", "PDF"),
            ("\0\0\0\u{1C}ftypavif", "AVIF"), ("\0\0\0\u{1C}ftypheic", "HEIC"), ("<svg>", "SVG"), ("II*\0", "TIFF"),
        ] {
            #expect(failure(Array(start.utf8)) == .otherFormat(name))
        }
        #expect(failure(Array("RIFF\u{1}\u{2}\u{3}\u{4}WAVE".utf8)) == .unknownFormat)
        #expect(failure([0]) == .unknownFormat)
        #expect(failure([0xFF, 0xD8]) == .unknownFormat)
        for start in [PNG.signature, JPEG.signature] {
            let sentence = try #require(failure(start)).sentence
            #expect(sentence.hasPrefix(PictureError.damaged("").sentence) && failure(start) != .damaged(""))
        }
    }

    @Test("in CMYK are rejected with a specific error")
    func unsupportedColors() throws {
        let pixels = [UInt8](repeating: 90, count: 16 * 16 * 4)
        let bytes = try PictureWriting.jpeg(16, 16, pixels, 90, TJPF_CMYK, TJSAMP_444)
        #expect(failure(bytes) == .unsupportedColors)
    }

    @Test("with a huge size are rejected before the allocation")
    func huge() throws {
        var png = try slope.png()
        // IHDR follows the signature; its checksum is adjusted.
        png.replaceSubrange(16..<24, with: [0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30])
        png.replaceSubrange(29..<33, with: CRC32.of(png[12..<29]))
        #expect(failure(png) == .tooLarge(width: 30_000, height: 30_000))
        var jpeg = try slope.jpeg(quality: 60)
        let frame = try #require(jpeg.indices.first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 })
        jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0x75, 0x30, 0x75, 0x30])
        #expect(failure(jpeg) == .tooLarge(width: 30_000, height: 30_000))
    }

    @Test("with a side that is too long or zero are rejected")
    func sides() {
        for (width, height) in [(30_001, 1), (1, 30_001), (7072, 7072), (Int.max, 1)] {
            #expect(throws: PictureError.tooLarge(width: width, height: height)) {
                try GrayPicture.checkSize(width, height)
            }
        }
        for (width, height) in [(0, 1), (1, 0), (-1, 5), (Int.min, Int.min)] {
            #expect(throws: PictureError.damaged("it has no pixels")) { try GrayPicture.checkSize(width, height) }
        }
    }

    @Test("that are truncated or damaged never crash")
    func damaged() throws {
        var random = SeededGenerator()
        var canvas = Canvas.desktop(width: 160, height: 160, using: &random)
        canvas.draw(try QRMatrix(text: link(&random)), Pose(x: 80, y: 80, side: 150))
        let whole = try [canvas.png(), canvas.colorPNG(), canvas.jpeg(quality: 60)]
        let progressive = try canvas.jpeg(quality: 60, flags: TJFLAG_PROGRESSIVE)
        var refused = 0
        for bytes in whole + [progressive] {
            for _ in 0..<60 {
                var damaged = Array(bytes.prefix(random.number(1...bytes.count)))
                for _ in 0..<random.number(0...8) {
                    damaged[random.number(0...damaged.count - 1)] = UInt8(random.number(0...255))
                }
                guard let picture = try? GrayPicture(decoding: damaged) else {
                    refused += 1
                    continue
                }
                // The code may still be readable, but no other text.
                _ = try CodeSearch().codesInWholePicture(in: picture) { $0.begins(with: "FIDO:/") }
            }
        }
        #expect(refused > 60, "\(random)")
    }

    @Test("do not print their pixels, and codes do not print their texts")
    func descriptions() throws {
        let picture = try GrayPicture(decoding: slope.png())
        #expect("\(picture)" == "GrayPicture(16 × 8)")
        var dumped = ""
        dump(picture, to: &dumped)
        #expect(dumped.split(separator: "\n").count == 1)
        let text = Array("FIDO:/1234".utf8).withUnsafeBytes { ScannedText($0) }
        #expect("\(text)" == "ScannedText(hidden)" && !String(reflecting: text).contains("1234"))
    }

    @Test("with codes: prefixes are compared in either case")
    func beginnings() {
        func text(_ text: String) -> ScannedText { Array(text.utf8).withUnsafeBytes { ScannedText($0) } }
        #expect(text("FIDO:/1").begins(with: "FIDO:/") && text("fido:/1").begins(with: "FIDO:/"))
        #expect(!text("FIDO:").begins(with: "FIDO:/") && !text("").begins(with: "FIDO:/"))
        #expect(!text("FIDO;/").begins(with: "FIDO:/") && !text("\u{46}\u{130}DO:/").begins(with: "FIDO:/"))
        #expect(text("a").matches(text("a")) && !text("a").matches(text("b")) && !text("a").matches(text("aa")))
    }
}

/// Returns the checksum of a PNG chunk.
private enum CRC32 {
    static func of(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return withUnsafeBytes(of: (~crc).bigEndian) { Array($0) }
    }
}
