// SPDX-License-Identifier: Apache-2.0

import CHybridTurboJPEG
import Foundation
import HybridQRCode
import HybridQRScanning
import Synchronization
import TestSupport
import Testing

/// The program and a viewfinder with virtual cameras of a real PipeWire.
@Suite(
    "A camera of PipeWire",
    .enabled(if: PipeWireDaemon.missing.isEmpty, "\(PipeWireDaemon.missing)"),
    .timeLimit(.minutes(10))
)
struct CameraSessionTests {
    private static let (width, height) = (960, 540)

    /// Returns the path of a picture that shows a code.
    private static func picture(_ text: String, in folder: String) throws -> String {
        let code = try QRMatrix(text: text)
        let scale = 400 / (code.size + 8)
        var pixels = [UInt8](repeating: 210, count: width * height)
        for y in 0..<code.size * scale {
            for x in 0..<code.size * scale where code.isDark(column: x / scale, row: y / scale) {
                pixels[(y + 60) * width + x + 60] = 30
            }
        }
        let path = "\(folder)/\(UUID().uuidString)"
        try Data(pixels).write(to: URL(fileURLWithPath: path))
        return path
    }

    private static func with(_ body: (PipeWireDaemon, ScanFixture) async throws -> Void) async throws {
        try await ScanFixture.with { fixture in
            let daemon = try await PipeWireDaemon(in: fixture.folder + "/run")
            try await body(daemon, fixture)
            try await daemon.stop()
        }
    }

    @Test("A scan takes it, by default and by its name")
    func scan() async throws {
        try await Self.with { daemon, fixture in
            let code = try Self.picture(ScanFixture.code, in: fixture.folder)
            try await daemon.camera(["node.name": "back", "format": "NV12", "file": code])
            for name in [[], ["back"]] {
                let ending = try await fixture.scan(["--camera"] + name)
                #expect(ending.lastLine.contains(ScanFixture.afterReading), "\(ending)")
            }
            let ending = try await fixture.scan(["--camera", "other"])
            #expect(ending.status == 69 && ending.lastLine.contains("no camera \"other\""), "\(ending)")
        }
    }

    @Test("It is not used if cameras are turned off in the settings of the desktop", arguments: [true, false])
    func turnedOff(hasCameras: Bool) async throws {
        try await Self.with { daemon, fixture in
            let code = try Self.picture(ScanFixture.code, in: fixture.folder)
            try await daemon.camera(["node.name": "back", "format": "NV12", "file": code])
            try await ScreenInputTests.portal(nil, "", hasCameras: hasCameras, on: fixture) { session, _ in
                let ending = try await fixture.scan(["--camera", "--json"], session)
                #expect(ending.lastLine.contains(#""code":"camera-turned-off""#) != hasCameras, "\(ending)")
                #expect(ending.lastLine.contains(ScanFixture.afterReading) == hasCameras, "\(ending)")
                let report = try await fixture.run(["doctor", "--timeout", "30"], session)
                let line = report.output.split(separator: "\n").first { $0.contains(" camera ") } ?? ""
                #expect(line.contains("turned off") != hasCameras, "\(report)")
            }
        }
    }

    @Test("Without PipeWire, a scan opens the Video4Linux device")
    func fallback() async throws {
        try await ScanFixture.with { fixture in
            // The program's device is that of the computer; most that run tests have none.
            let ending = try await fixture.scan(["--camera", "--timeout", "1"])
            #expect(!ending.errors.contains("PipeWire"), "\(ending)")
            #expect(ending.lastLine.contains("camera"), "\(ending)")
        }
    }

    @Test("The doctor names the cameras, and what is missing")
    func doctor() async throws {
        func check(_ fixture: ScanFixture) async throws -> String {
            let ending = try await fixture.run(["doctor", "--timeout", "5"])
            return try #require(ending.output.split(separator: "\n").first { $0.contains(" camera ") }.map(String.init))
        }
        try await Self.with { daemon, fixture in
            let code = try Self.picture(ScanFixture.code, in: fixture.folder)
            let none = try await check(fixture)
            #expect(none.contains("no camera"), "\(none)")
            try await daemon.camera(["node.name": "one", "node.description": "First", "format": "NV12", "file": code])
            let one = try await check(fixture)
            #expect(one.hasSuffix("\"First\" (one)"), "\(one)")
        }
        try await ScanFixture.with { fixture in
            let unreachable = try await check(fixture)
            #expect(unreachable.contains("PipeWire can't be reached"), "\(unreachable)")
        }
    }

    /// The events of a session.
    private final class Events: Sendable {
        private let all = Mutex<[CameraSession.Event]>([])
        let pictures = Mutex(0)
        @Sendable func note(_ event: CameraSession.Event) {
            if case .picture = event { pictures.withLock { $0 += 1 } }
            all.withLock { $0.append(event) }
        }
        var code: String? {
            for case .code(let text) in all.withLock({ $0 }) {
                return text.withBytes { String(decoding: $0, as: UTF8.self) }
            }
            return nil
        }
        var failure: CameraError? {
            for case .failed(let error) in all.withLock({ $0 }) { return error }
            return nil
        }
        var hints: [CameraHint] {
            all.withLock { events in
                events.compactMap { event in
                    guard case .hint(let hint) = event else { return nil }
                    return hint
                }
            }
        }
        var current: String? {
            var name: String?
            for case .cameras(_, let current) in all.withLock({ $0 }) { name = current?.name }
            return name
        }
    }

    private static func options(_ daemon: PipeWireDaemon) -> CameraSession.Options {
        var options = CameraSession.Options()
        options.program = BuildFolder.program("hybrid-auth")
        options.daemon = daemon.socket
        return options
    }

    @Test(
        "A session shows pictures, gives hints, changes the camera, and ends with the code",
        arguments: ["NV12", "MJPG"]
    )
    func session(format: String) async throws {
        try await Self.with { daemon, fixture in
            let (blank, code) = (
                try Self.picture("HTTPS://EXAMPLE.COM/1", in: fixture.folder),
                try Self.picture("HYBRID-RELAY:/1", in: fixture.folder)
            )
            var first = ["node.name": "front", "format": format, "file": blank, "api.libcamera.location": "front"]
            if format == "MJPG" { first["file"] = try Self.jpeg(blank, in: fixture.folder) }
            let camera = try await daemon.camera(first)
            let events = Events()
            var options = Self.options(daemon)
            options.wantedStarts = ["FIDO:/", "hybrid-relay:"]
            let session = CameraSession(options, onEvent: events.note)
            try await Waiting.until("a hint", evidence: "\(events.failure as Any)") { events.hints == [.anotherCode] }
            // No picture has been taken yet.
            #expect(events.pictures.withLock { $0 } == 1)
            let picture = try #require(session.takePicture())
            #expect(picture.width == 480 && picture.height == 270 && picture.isMirrored && picture.quarterTurns == 0)
            // Light around the code, and dark inside.
            let pixels = picture.withPixels { Array($0) }
            #expect(abs(Int(pixels[0]) - Int(pixels[2])) < 12 && pixels[0] > 180)
            #expect(pixels.contains { $0 < 60 })
            try await Waiting.until("another picture") { session.takePicture() != nil }

            try await daemon.camera([
                "node.name": "back", "format": "YUY2", "file": code, "api.libcamera.location": "back",
            ])
            let back = try #require(try Self.cameras(daemon).first { $0.name == "back" })
            session.select(back)
            try await Waiting.until("the code", evidence: "\(events.failure as Any)") { events.code != nil }
            #expect(events.code == "HYBRID-RELAY:/1" && events.current == "back")
            session.stop()
            try await Waiting.until("the release of the first camera") { camera.output.hasSuffix("idle\n") }
        }
    }

    @Test("A session releases the camera when it is stopped, also by an event")
    func stop() async throws {
        try await Self.with { daemon, fixture in
            let blank = try Self.picture("HTTPS://EXAMPLE.COM/1", in: fixture.folder)
            let camera = try await daemon.camera(["node.name": "one", "format": "NV12", "file": blank])
            for isByEvent in [false, true] {
                let events = Events()
                let slot = Mutex<CameraSession?>(nil)
                let session = CameraSession(Self.options(daemon)) { event in
                    events.note(event)
                    if isByEvent, case .picture = event { slot.withLock { $0 }?.stop() }
                }
                slot.withLock { $0 = session }
                if isByEvent { _ = session.takePicture() }
                try await Waiting.until("a picture", evidence: "\(events.failure as Any)") {
                    if isByEvent { _ = session.takePicture() }
                    return events.pictures.withLock { $0 } > 0
                }
                session.stop()
                try await Waiting.until("the release") { camera.output.hasSuffix("idle\n") }
                slot.withLock { $0 = nil }
            }
        }
    }

    @Test("The list has cameras only")
    func list() async throws {
        try await Self.with { daemon, fixture in
            #expect(try Self.cameras(daemon) == [])
            let blank = try Self.picture("HTTPS://EXAMPLE.COM/1", in: fixture.folder)
            for name in ["one", "two"] {
                try await daemon.camera(["node.name": name, "format": "NV12", "file": blank])
            }
            try await daemon.camera(["node.name": "screen", "media.role": "Screen", "format": "NV12", "file": blank])
            #expect(try Self.cameras(daemon).map(\.name) == ["one", "two"])
        }
    }

    @Test("A session without a daemon reports that")
    func noDaemon() async throws {
        try await ScanFixture.with { fixture in
            var options = CameraSession.Options()
            options.program = BuildFolder.program("hybrid-auth")
            options.daemon = fixture.folder + "/no-socket"
            let events = Events()
            let session = CameraSession(options, onEvent: events.note)
            try await Waiting.until("the failure") { events.failure != nil }
            #expect(events.failure?.sentence.hasPrefix("PipeWire can't be reached") == true)
            session.stop()
        }
    }

    /// Returns the cameras of a daemon.
    private static func cameras(_ daemon: PipeWireDaemon) throws -> [CameraNode] {
        try PipeWireCameras.current(daemon: daemon.socket)
    }

    /// Writes a JPEG of a picture and returns its path.
    private static func jpeg(_ path: String, in folder: String) throws -> String {
        let pixels = Array(try #require(FileManager.default.contents(atPath: path)))
        let encoder = try #require(tjInitCompress())
        defer { tjDestroy(encoder) }
        var start: UnsafeMutablePointer<UInt8>?
        var size: UInt = 0
        defer { tjFree(start) }
        let (columns, rows) = (Int32(width), Int32(height))
        let (format, sampling) = (Int32(TJPF_GRAY.rawValue), Int32(TJSAMP_GRAY.rawValue))
        let code = tjCompress2(encoder, pixels, columns, 0, rows, format, &start, &size, sampling, 90, 0)
        try #require(code == 0)
        let file = "\(folder)/\(UUID().uuidString).jpeg"
        try Data(UnsafeBufferPointer(start: try #require(start), count: Int(size))).write(
            to: URL(fileURLWithPath: file)
        )
        return file
    }
}
