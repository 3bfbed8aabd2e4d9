// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridQRCode
import Synchronization
import TestSupport
import Testing

@testable import HybridQRScanning

/// A source of prepared frames, after which it is silent or fails.
private struct RecordedFrames: FrameSource {
    var frames: [GrayPicture]
    var end: CameraError?

    mutating func nextFrame() throws(CameraError) -> GrayPicture? {
        guard frames.isEmpty else { return frames.removeFirst() }
        if let end { throw end }
        // Like a camera without a new frame.
        usleep(1_000)
        return nil
    }
}

/// Hints of a scan.
private final class Hints: Sendable {
    private let box = Mutex<[CameraHint]>([])
    var all: [CameraHint] { box.withLock { $0 } }
    @Sendable func note(_ hint: CameraHint) { box.withLock { $0.append(hint) } }
}

@Suite("A camera scan", .timeLimit(.minutes(10)))
struct CameraCodeScannerTests {
    private static let text = "FIDO:/123456789012345"

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

    private func watch(
        _ frames: [GrayPicture],
        end: CameraError? = nil,
        limit: Duration = .seconds(60),
        hints: Hints = Hints()
    ) async throws(CameraCodeScanner.Failure) -> String {
        let code = try await CameraCodeScanner.firstCode(
            from: { RecordedFrames(frames: frames, end: end) },
            limit: limit,
            where: { $0.begins(with: "FIDO:/") },
            hint: hints.note
        )
        return code.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test("ends with the first frame that shows a code, and gives hints before")
    func finds() async throws {
        let hints = Hints()
        let dark = try Self.frame([], light: 20)
        let empty = try Self.frame([])
        let other = try Self.frame(["HTTPS://EXAMPLE.COM/1"])
        let several = try Self.frame([Self.text, "FIDO:/555"])
        let once = [empty]
        let frames = [dark, empty, other, several].flatMap { Array(repeating: $0, count: HintFilter.requiredFrames) }
        let found = try await watch(frames + once + [Self.frame([Self.text], tilt: 20)], hints: hints)
        #expect(found == Self.text)
        #expect(hints.all == [.tooDark, .noCode, .anotherCode, .severalCodes])
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
                if let hint = choice.next(finding, isDark: frame.isDark) { given.append(hint) }
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

    @Test("ends when the camera fails, with the camera's error")
    func stops() async throws {
        let empty = try Self.frame([])
        await #expect(throws: CameraCodeScanner.Failure.camera(.stopped("/dev/video7"))) {
            try await watch([empty], end: .stopped("/dev/video7"))
        }
    }

    @Test("times out without frames")
    func timesOut() async {
        await #expect(throws: CameraCodeScanner.Failure.timedOut) { try await watch([], limit: .milliseconds(20)) }
    }

    @Test("ends at once when it is cancelled")
    func cancelled() async {
        let task = Task { try await watch([]) }
        task.cancel()
        await #expect(throws: CameraCodeScanner.Failure.cancelled) { try await task.value }
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
