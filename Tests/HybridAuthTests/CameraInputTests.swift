// SPDX-License-Identifier: Apache-2.0

import CHybridTurboJPEG
import Glibc
import HybridQRCode
import HybridQRScanning
import Synchronization
import TestSupport
import Testing

/// A source of prepared frames, after which it is silent or fails.
private struct RecordedFrames: FrameSource {
    var frames: [CameraFrame]
    var end: CameraError?

    mutating func nextFrame() throws(CameraError) -> CameraFrame? {
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

@Suite("Scanning frames of a camera", .timeLimit(.minutes(10)))
struct CameraInputTests {
    private static let text = "FIDO:/123456789012345"
    private static let (width, height) = (480, 240)

    /// Returns gray pixels that show these codes side by side, with four pixels per module.
    private static func pixels(_ texts: [String], light: UInt8 = 210) throws -> [UInt8] {
        var pixels = [UInt8](repeating: light, count: width * height)
        for (index, text) in texts.enumerated() {
            let code = try QRMatrix(text: text)
            for y in 0..<code.size * 4 {
                for x in 0..<code.size * 4 where code.isDark(column: x / 4, row: y / 4) {
                    pixels[(y + 40) * width + x + 40 + index * width / 2] = 30
                }
            }
        }
        return pixels
    }

    private static func frame(_ texts: [String], light: UInt8 = 210) throws -> CameraFrame {
        try pixels(texts, light: light).withUnsafeBytes { try CameraFrame(width: width, height: height, gray: $0) }
    }

    /// Returns a frame in a format that is named by four characters.
    private static func frame(_ format: StaticString, _ bytes: [UInt8]) throws -> CameraFrame {
        let name = format.withUTF8Buffer { $0.reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) } }
        return try bytes.withUnsafeBytes {
            try CameraFrame(format: name, width: width, height: height, bytes: $0)
        }
    }

    private static func jpeg(_ pixels: [UInt8]) throws -> [UInt8] {
        let encoder = try #require(tjInitCompress())
        defer { tjDestroy(encoder) }
        var start: UnsafeMutablePointer<UInt8>?
        var size: UInt = 0
        defer { tjFree(start) }
        let gray = (format: Int32(TJPF_GRAY.rawValue), sampling: Int32(TJSAMP_GRAY.rawValue))
        let (width, height) = (Int32(width), Int32(height))
        let code = tjCompress2(encoder, pixels, width, 0, height, gray.format, &start, &size, gray.sampling, 90, 0)
        try #require(code == 0)
        return Array(UnsafeBufferPointer(start: try #require(start), count: Int(size)))
    }

    private func watch(
        _ frames: [CameraFrame],
        end: CameraError? = nil,
        limit: Duration = .seconds(60),
        program: String = BuildFolder.program("hybrid-auth"),
        hints: Hints = Hints()
    ) async throws(CameraCodeScanner.Failure) -> String {
        let code = try await CameraCodeScanner.firstCode(
            from: { RecordedFrames(frames: frames, end: end) },
            limit: limit,
            beginningWith: "FIDO:/",
            program: program,
            hint: hints.note
        )
        return code.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test("Ends with the first frame that shows a code, and gives hints before")
    func finds() async throws {
        let hints = Hints()
        let dark = try Self.frame([], light: 20)
        let empty = try Self.frame([])
        let other = try Self.frame(["HTTPS://EXAMPLE.COM/1"])
        let several = try Self.frame([Self.text, "FIDO:/555"])
        let frames = [dark, empty, other, several].flatMap { Array(repeating: $0, count: 5) }
        let found = try await watch(frames + [empty, Self.frame([Self.text])], hints: hints)
        #expect(found == Self.text)
        #expect(hints.all == [.tooDark, .noCode, .anotherCode, .severalCodes])
    }

    @Test("Reads the formats of cameras, and none that it does not know")
    func formats() async throws {
        let pixels = try Self.pixels([Self.text])
        let colors = [UInt8](repeating: 128, count: pixels.count / 2)
        let frames = [
            try Self.frame("YUYV", pixels.flatMap { [$0, 128] }), try Self.frame("NV12", pixels + colors),
            try Self.frame("YU12", pixels + colors), try Self.frame("MJPG", Self.jpeg(pixels)),
        ]
        for frame in frames { #expect(try await watch([frame]) == Self.text, "\(frame)") }
        let unknown = try Self.frame("?!?!", pixels)
        let failure = await #expect(throws: CameraCodeScanner.Failure.self) { try await watch([unknown]) }
        guard case .camera(let error)? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(error.sentence.contains("pixel formats"), "\(error)")
    }

    @Test("Frames that are shorter than they claim, or no JPEG, end the scan at most")
    func lies() async throws {
        let pixels = try Self.pixels([Self.text])
        let cut = Array(try Self.jpeg(pixels).prefix(300))
        let whole = try Self.frame([Self.text])
        let frames = [
            try Self.frame("YUYV", [1, 2, 3]), try Self.frame("Y800", [7]), try Self.frame("MJPG", cut),
            try Self.frame("MJPG", [0xFF, 0xD8]),
        ]
        for frame in frames {
            do throws(CameraCodeScanner.Failure) {
                let found = try await watch([frame, whole])
                #expect(found == Self.text)
            } catch {
                if case .camera = error { continue }
                Issue.record("\(error)")
            }
        }
    }

    @Test("Ends when the camera or the process of the frames fails")
    func stops() async throws {
        let empty = try Self.frame([])
        await #expect(throws: CameraCodeScanner.Failure.camera(.stopped("/dev/video7"))) {
            try await watch([empty], end: .stopped("/dev/video7"))
        }
        await #expect(throws: CameraCodeScanner.Failure.camera(.picture(.decoderFailed))) {
            try await watch([empty], program: "/bin/false")
        }
    }

    @Test("Times out without frames, and with a process that does not answer")
    func timesOut() async throws {
        await #expect(throws: CameraCodeScanner.Failure.timedOut) { try await watch([], limit: .milliseconds(20)) }
        let frame = try Self.frame([Self.text])
        try await TestFolder.with { folder in
            let program = folder.path + "/decoder"
            try await TestFile.writeProgram("#!/bin/sh\nexec sleep 600\n", to: program)
            await #expect(throws: CameraCodeScanner.Failure.timedOut) {
                try await watch([frame], limit: .milliseconds(200), program: program)
            }
        }
    }

    @Test("Ends at once when it is canceled")
    func canceled() async {
        let task = Task { try await watch([]) }
        task.cancel()
        await #expect(throws: CameraCodeScanner.Failure.cancelled) { try await task.value }
    }

    @Test("Ends a process that does not answer when it is canceled")
    func canceledSearch() async throws {
        let frame = try Self.frame([Self.text])
        try await TestFolder.with { folder in
            let (program, file) = (folder.path + "/decoder", folder.path + "/process")
            let script = "#!/bin/sh\necho $$ >\(file).new; mv \(file).new \(file); exec sleep 600\n"
            try await TestFile.writeProgram(script, to: program)
            let task = Task { try await watch([frame], program: program) }
            try await Waiting.until("the process") { !TestFile.text(file).isEmpty }
            task.cancel()
            await #expect(throws: CameraCodeScanner.Failure.cancelled) { try await task.value }
            let process = try #require(Int32(TestFile.text(file).dropLast()))
            try await Waiting.until("the end of the process") { kill(process, 0) != 0 }
        }
    }

    @Test("Searches frames in a process that can't open files or connections")
    func confined() async throws {
        try await ScanFixture.with { try await $0.checkConfinement(of: "--search-frames") }
    }
}
