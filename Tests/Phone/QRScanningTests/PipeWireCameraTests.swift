// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridQRCode
import HybridThreads
import TestSupport
import Testing

@testable import HybridQRScanning

/// Virtual cameras of a real PipeWire, which may lie.
@Suite(
    "Cameras of PipeWire",
    .enabled(if: PipeWireDaemon.missing.isEmpty, "\(PipeWireDaemon.missing)"),
    .timeLimit(.minutes(10))
)
struct PipeWireCameraTests {
    private static let text = "FIDO:/123456789012345"
    private static let (width, height) = (960, 540)
    /// The usual limits of programs.
    private static let usual = PipeWireCamera.Limits()
    /// Limits for cameras that should work, on a computer that is busy.
    private static let patient = PipeWireCamera.Limits(patience: .seconds(60))

    /// Returns the path of a picture for cameras, with one byte of gray per pixel.
    private static func picture(_ text: String, in folder: TestFolder) throws -> String {
        let path = "\(folder.path)/\(UUID().uuidString)"
        try Data(try canvas(text).pixels).write(to: URL(fileURLWithPath: path))
        return path
    }

    private static func canvas(_ text: String) throws -> Canvas {
        var canvas = Canvas(width: width, height: height, shade: 120)
        canvas.draw(try QRMatrix(text: text), Pose(x: 480, y: 270, side: 320), dark: 30, light: 210)
        return canvas
    }

    /// Scans until a code or a failure, with the search in this process.
    private static func scan(
        _ daemon: String,
        _ selection: CameraSelection = .automatic(last: nil),
        limits: PipeWireCamera.Limits = patient,
        onFrame: @escaping @Sendable (CapturedFrame) -> Void = { _ in }
    ) async -> Result<String, CameraError> {
        await DedicatedThread.run {
            Result { () throws(CameraError) in
                let camera = try PipeWireCamera(selection, daemon: daemon, limits: limits)
                while true {
                    try camera.advance(for: .milliseconds(100), .brightness)
                    guard let frame = try camera.takeFrame() else { continue }
                    onFrame(frame)
                    if let text = try text(of: frame) { return text }
                }
            }
        }
    }

    private static func text(of frame: CapturedFrame) throws(CameraError) -> String? {
        do throws(PictureError) {
            let picture = try frame.searchable().grayPicture()
            let finding = try CodeSearch().codesInWholePicture(in: picture) { $0.begins(with: "FIDO:/") }
            return finding.wanted.first?.withBytes { String(decoding: $0, as: UTF8.self) }
        } catch {
            throw .picture(error)
        }
    }

    private static func with(
        hasManager: Bool = true,
        _ body: (PipeWireDaemon, TestFolder) async throws -> Void
    ) async throws {
        try await TestFolder.with { folder in
            let daemon = try await PipeWireDaemon(in: folder.path, hasManager: hasManager)
            try await body(daemon, folder)
            try await daemon.stop()
        }
    }

    @Test("The description of the library's interface is that of its headers")
    func interface() async throws {
        try await TestFolder.with { folder in
            let file = PackageFolder.path + "/Tests/Counterparts/camera/interface.c"
            let command = "cc -Wall -Werror -fsyntax-only \(file) $(pkg-config --cflags libpipewire-0.3)"
            let ending = try await RunningProgram("/bin/sh", ["-c", command], in: folder.path).ending()
            #expect(ending.status == 0, "\(ending)")
        }
    }

    @Test("A code is found in each format, and in rows with changing padding")
    func formats() async throws {
        let formats = [
            "GRAY8", "NV12", "NV21", "I420", "YV12", "YUY2", "UYVY", "RGBx", "BGRx", "RGBA", "BGRA", "xRGB", "xBGR",
            "RGB", "BGR",
        ]
        try await Self.with { daemon, folder in
            let picture = try Self.picture(Self.text, in: folder)
            for format in formats {
                let options = ["name": format, "format": format, "file": picture, "lie": "padding"]
                let camera = try await daemon.camera(options)
                #expect(await Self.scan(daemon.socket) == .success(Self.text), "\(format)")
                camera.send(SIGTERM)
                _ = try await camera.ending()
            }
        }
    }

    @Test("A JPEG is found if it has the agreed size, and refused otherwise")
    func jpeg() async throws {
        try await Self.with { daemon, folder in
            let file = "\(folder.path)/picture.jpeg"
            try Data(try Self.canvas(Self.text).jpeg(quality: 90)).write(to: URL(fileURLWithPath: file))
            let honest = try await daemon.camera(["node.name": "honest", "format": "MJPG", "file": file])
            #expect(await Self.scan(daemon.socket, .only("honest")) == .success(Self.text))
            let options = ["node.name": "liar", "format": "MJPG", "file": file, "width": "1280", "height": "720"]
            let liar = try await daemon.camera(options)
            guard case .failure(let error) = await Self.scan(daemon.socket, .only("liar")) else {
                Issue.record("a JPEG of another size is accepted")
                return
            }
            #expect(error.sentence.contains("size"), "\(error)")
            for camera in [honest, liar] { camera.send(SIGTERM) }
        }
    }

    @Test("Of several cameras, the one on the back is taken, not the session's default, and no infrared one")
    func selection() async throws {
        try await Self.with { daemon, folder in
            // The session prefers the highest priority, as that of the front of a phone.
            func start(
                _ name: String,
                _ location: String?,
                _ priority: String,
                _ more: [String: String] = [:]
            ) async throws {
                var options = ["node.name": name, "priority.session": priority, "format": "NV12"]
                options["file"] = try Self.picture("FIDO:/\(name.utf8.reduce(100) { $0 * 3 + Int($1) })", in: folder)
                if let location { options["api.libcamera.location"] = location }
                try await daemon.camera(options.merging(more) { $1 })
            }
            func code(_ name: String) -> Result<String, CameraError> {
                .success("FIDO:/\(name.utf8.reduce(100) { $0 * 3 + Int($1) })")
            }
            try await start("infrared", "back", "1000", ["node.description": "Integrated IR Camera"])
            try await start("gray", "back", "990", ["format": "GRAY8"])
            try await start("front", "front", "900")
            #expect(await Self.scan(daemon.socket) == code("front"))
            try await start("cable", nil, "100")
            #expect(await Self.scan(daemon.socket) == code("cable"))
            try await start("back", "back", "10")
            #expect(await Self.scan(daemon.socket) == code("back"))
            #expect(await Self.scan(daemon.socket, .automatic(last: "front")) == code("front"))
            #expect(await Self.scan(daemon.socket, .only("infrared")) == code("infrared"))
            let missing = await Self.scan(daemon.socket, .only("none"), limits: Self.usual)
            #expect(missing == .failure(.noCamera(named: "none")))
        }
    }

    @Test("Frames of a camera that lies are refused, and end the scan")
    func lies() async throws {
        let lies = [
            "short", "offset", "wrap", "stride-large", "stride-huge", "stride-small", "stride-negative", "corrupt",
            "empty",
            "header", "truncate",
        ]
        try await Self.with { daemon, folder in
            let picture = try Self.picture(Self.text, in: folder)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lie in lies {
                    try await daemon.camera(["node.name": lie, "format": "YUY2", "file": picture, "lie": lie])
                    group.addTask {
                        let result = await Self.scan(daemon.socket, .only(lie))
                        guard case .failure(let error) = result else {
                            Issue.record("\(lie): a code was found")
                            return
                        }
                        #expect(error.sentence.contains("can't be used"), "\(lie): \(error.sentence)")
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("A camera that is unplugged ends the scan, unless there is another")
    func unplugged() async throws {
        try await Self.with { daemon, folder in
            let blank = try Self.picture("HTTPS://EXAMPLE.COM/1", in: folder)
            let first = try await daemon.camera(["node.name": "first", "format": "NV12", "file": blank])
            let frames = Signal()
            async let result = Self.scan(daemon.socket) { _ in frames.fire() }
            await frames.wait()
            first.send(SIGKILL)
            let ended = await result
            #expect(ended == .failure(.unplugged("first")))

            let second = try await daemon.camera(["node.name": "second", "format": "NV12", "file": blank])
            let more = Signal()
            async let other = Self.scan(daemon.socket, .automatic(last: "second")) { _ in more.fire() }
            await more.wait()
            let code = try Self.picture(Self.text, in: folder)
            try await daemon.camera(["node.name": "third", "format": "NV12", "file": code])
            second.send(SIGKILL)
            let switched = await other
            #expect(switched == .success(Self.text))
        }
    }

    @Test("A camera that appears late is taken, and its turn is reported")
    func late() async throws {
        try await Self.with { daemon, folder in
            let picture = try Self.picture(Self.text, in: folder)
            let turns = Locked<CapturedFrame.Orientation?>(nil)
            async let result = Self.scan(daemon.socket) { frame in turns.withLock { $0 = frame.orientation } }
            try await daemon.camera(["node.name": "late", "format": "NV12", "file": picture, "transform": "7"])
            #expect(await result == .success(Self.text))
            #expect(turns.withLock { $0 } == CapturedFrame.Orientation(quarterTurns: 3, isFlipped: true))
        }
    }

    @Test("What is missing is named: the session manager, a camera, the daemon, a format")
    func missing() async throws {
        try await Self.with(hasManager: false) { daemon, folder in
            let none = CameraDevices.areThere ? CameraError.noCameraNode : .noCamera
            #expect(await Self.scan(daemon.socket, limits: Self.usual) == .failure(none))
            let picture = try Self.picture(Self.text, in: folder)
            try await daemon.camera(["node.name": "alone", "format": "NV12", "file": picture])
            #expect(await Self.scan(daemon.socket, limits: Self.usual) == .failure(.notStarted("alone")))
            let nowhere = await Self.scan(folder.path + "/no-socket")
            guard case .failure(let error) = nowhere else {
                Issue.record("\(nowhere)")
                return
            }
            #expect(error.sentence.hasPrefix("PipeWire can't be reached"), "\(error)")
        }
        try await Self.with { daemon, folder in
            let picture = try Self.picture(Self.text, in: folder)
            try await daemon.camera([
                "node.name": "odd", "format": "GRAY16", "width": "480", "height": "270", "file": picture,
            ])
            let result = await Self.scan(daemon.socket, limits: Self.usual)
            #expect([.failure(.noFormat("odd")), .failure(.notStarted("odd"))].contains(result), "\(result)")
        }
    }

    @Test("A camera that stops sending frames ends the scan")
    func stopped() async throws {
        try await Self.with { daemon, folder in
            let blank = try Self.picture("HTTPS://EXAMPLE.COM/1", in: folder)
            try await daemon.camera(["node.name": "tired", "format": "NV12", "file": blank, "stop": "5"])
            let limits = PipeWireCamera.Limits(patience: .seconds(60), silence: .seconds(1))
            #expect(await Self.scan(daemon.socket, limits: limits) == .failure(.silent("tired")))
        }
    }
}
