// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridQRCode
import Synchronization
import TestSupport
import Testing

@testable import HybridQRScanning

/// Scans are tested with `hybrid-auth`, whose process searches the frames.
@Suite("A camera scan", .timeLimit(.minutes(10)))
struct CameraCodeScannerTests {
    /// Returns a camera frame that shows these codes.
    private static func frame(_ texts: [String], tilt: Double = 0, light: Int = 210) throws -> GrayPicture {
        var random = SeededGenerator(seed: 9)
        var canvas = Canvas(width: 480, height: 270, shade: UInt8(light / 2))
        for (index, text) in texts.enumerated() {
            let x = Double(480 * (2 * index + 1) / (2 * texts.count))
            let pose = Pose(x: x, y: 135, side: texts.count > 1 ? 140 : 180, tilt: tilt)
            canvas.draw(try QRMatrix(text: text), pose, dark: 30, light: light)
        }
        canvas = canvas.blurred().noisy(6, using: &random)
        return try canvas.pixels.withUnsafeBytes { try GrayPicture(width: 480, height: 270, pixels: $0) }
    }

    @Test("gives no hint after only a few frames, and none twice in a row")
    func steady() throws {
        let search = try CodeSearch()
        let (dark, empty) = (try Self.frame([], light: 20), try Self.frame([]))
        var choice = HintFilter()
        var given: [CameraHint] = []
        func show(_ frame: GrayPicture, _ times: Int) throws {
            for _ in 0..<times {
                let finding = try search.codesInWholePicture(in: frame) { _ in true }
                if let hint = choice.next(finding) { given.append(hint) }
            }
        }
        try show(dark, HintFilter.requiredFrames - 1)
        try show(empty, HintFilter.requiredFrames - 1)
        #expect(given == [])
        try show(empty, 1)
        #expect(given == [.noCode])
        try show(dark, 1)
        try show(empty, HintFilter.requiredFrames)
        #expect(given == [.noCode])
        try show(dark, HintFilter.requiredFrames)
        #expect(given == [.noCode, .tooDark])
    }

    @Test("reports why a camera cannot be opened")
    func cameras() throws {
        func failure(_ path: String) -> CameraError? {
            do throws(CameraError) {
                _ = try Camera(path: path)
                return nil
            } catch {
                return error
            }
        }
        #expect(failure("/dev/no-such-camera") == .noDevice("/dev/no-such-camera"))
        #expect(failure("/dev/null/video0") == .noDevice("/dev/null/video0"))
        for path in ["/dev/null", "/tmp"] {
            let sentence = failure(path)?.sentence
            #expect(sentence?.hasPrefix("the camera \(path) can't be used: ") == true, "\(sentence ?? "no error")")
        }
    }
}
