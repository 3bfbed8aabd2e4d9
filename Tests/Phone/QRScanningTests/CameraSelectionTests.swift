// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridQRScanning

@Suite("The selection of a camera")
struct CameraSelectionTests {
    private static func camera(
        _ name: String,
        _ serial: Int,
        _ properties: [String: String] = [:],
        isGrayOnly: Bool = false
    ) throws -> CameraNode {
        let all = [
            "media.class": "Video/Source", "media.role": "Camera", "node.name": name, "object.serial": "\(serial)",
        ]
        return try #require(CameraNode(all.merging(properties) { $1 }, isGrayOnly: isGrayOnly))
    }

    private static func located(_ location: String) -> [String: String] { ["api.libcamera.location": location] }

    @Test("takes the one on the back, else one without a location, else any; and the last one first")
    func order() throws {
        let front = try Self.camera("front", 1, Self.located("front"))
        let back = try Self.camera("back", 2, Self.located("back"))
        let cable = try Self.camera("cable", 3)
        let any = CameraSelection.automatic(last: nil)
        #expect(any.camera(of: [front, cable, back]) == back)
        #expect(any.camera(of: [front, cable]) == cable)
        #expect(any.camera(of: [front]) == front)
        #expect(any.camera(of: []) == nil)
        #expect(CameraSelection.automatic(last: "front").camera(of: [back, front]) == front)
        #expect(CameraSelection.automatic(last: "gone").camera(of: [front, back]) == back)
    }

    @Test("takes a named camera only, by its name or serial number")
    func named() throws {
        let cameras = [try Self.camera("a", 31), try Self.camera("b", 32)]
        #expect(CameraSelection.only("b").camera(of: cameras)?.serial == 32)
        #expect(CameraSelection.only("31").camera(of: cameras)?.name == "a")
        #expect(CameraSelection.only("c").camera(of: cameras) == nil)
    }

    @Test("leaves out cameras for infrared light")
    func infrared() throws {
        let infrared = try Self.camera("ir", 1, ["node.description": "Integrated IR Camera"])
        let gray = try Self.camera("gray", 2, isGrayOnly: true)
        let front = try Self.camera("front", 3, Self.located("front"))
        let any = CameraSelection.automatic(last: nil)
        #expect(any.camera(of: [infrared, gray, front]) == front)
        #expect(any.camera(of: [infrared, gray]) == gray)
        #expect(any.camera(of: [infrared]) == nil)
        #expect(CameraSelection.only("ir").camera(of: [infrared]) == infrared)
        for title in ["FIRE 200", "Iris Cam", "SIR"] {
            #expect(!(try Self.camera("x", 4, ["node.description": title])).isInfrared, "\(title)")
        }
        #expect(try Self.camera("x", 5, ["node.description": "Front Infrared"]).isInfrared)
    }

    @Test("reads the properties of nodes, and takes only cameras")
    func properties() throws {
        let camera = try Self.camera(
            "back",
            7,
            [
                "node.description": "Back\u{202E}\nCamera", "api.libcamera.location": "back",
                "api.libcamera.rotation": "270",
            ]
        )
        #expect(camera.title == "BackCamera")
        #expect(camera.location == .back)
        #expect(camera.quarterTurns == 3)
        #expect(try Self.camera("x", 8, ["api.libcamera.rotation": "-90"]).quarterTurns == 3)
        #expect(try Self.camera("x", 8, ["api.libcamera.rotation": "45"]).quarterTurns == 0)
        #expect(try Self.camera("x", 8, Self.located("cellar")).location == nil)
        let whole = ["media.class": "Video/Source", "media.role": "Camera", "node.name": "a", "object.serial": "1"]
        #expect(CameraNode(whole, isGrayOnly: false) != nil)
        for (key, value) in [
            ("media.class", "Audio/Source"), ("media.role", "Screen"), ("object.serial", "1 x"),
            ("object.serial", "-1"),
        ] {
            #expect(CameraNode(whole.merging([key: value]) { $1 }, isGrayOnly: false) == nil, "\(key) \(value)")
        }
        for key in whole.keys {
            #expect(CameraNode(whole.filter { $0.key != key }, isGrayOnly: false) == nil, "\(key)")
        }
    }
}
