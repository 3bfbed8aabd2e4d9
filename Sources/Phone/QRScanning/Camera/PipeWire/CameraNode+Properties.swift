// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

extension CameraNode {
    /// Creates a camera from the properties of a node; `nil` if the node is no camera.
    ///
    /// - Parameters:
    ///   - properties: The node's own properties.
    ///   - isGrayOnly: True if the node offers no format with colors.
    init?(_ properties: [String: String], isGrayOnly: Bool) {
        guard properties["media.class"] == "Video/Source", properties["media.role"] == "Camera",
            let serial = properties["object.serial"].flatMap(UInt64.init), let name = properties["node.name"]
        else {
            return nil
        }
        let title = properties["node.description"] ?? properties["node.nick"] ?? name
        self.name = name
        self.serial = serial
        self.title = String(SafeText(quoting: title).description.dropFirst().dropLast())
        location = properties["api.libcamera.location"].flatMap(Location.init)
        let degrees = properties["api.libcamera.rotation"].flatMap(Int.init) ?? 0
        quarterTurns = degrees % 90 == 0 ? ((degrees / 90) % 4 + 4) % 4 : 0
        isInfrared = Self.namesInfrared(title)
        self.isGrayOnly = isGrayOnly
    }

    /// Returns true if a name has the word "IR" or "infrared".
    private static func namesInfrared(_ name: String) -> Bool {
        let words = name.split { !$0.isLetter && !$0.isNumber }
        return words.contains { $0 == "IR" || $0.lowercased() == "infrared" }
    }
}

extension CameraSelection {
    /// Returns the camera to use; `nil` if there is none.
    ///
    /// The session's default is never asked, because on phones it is the camera on the front.
    package func camera(of cameras: [CameraNode]) -> CameraNode? {
        switch self {
        case .only(let name): return cameras.first { $0.isNamed(name) }
        case .automatic(let last):
            if let last, let camera = cameras.first(where: { $0.isNamed(last) }) { return camera }
            let candidates = Self.usable(cameras)
            let order: [CameraNode.Location?] = [.back, nil, .external, .front]
            return order.lazy.compactMap { location in candidates.first { $0.location == location } }.first
        }
    }

    /// Returns the cameras that see what a user sees.
    ///
    /// A camera without colors is one for infrared light, unless there is no other.
    static func usable(_ cameras: [CameraNode]) -> [CameraNode] {
        let visible = cameras.filter { !$0.isInfrared }
        let colored = visible.filter { !$0.isGrayOnly }
        return colored.isEmpty ? visible : colored
    }
}

extension CameraNode {
    /// Returns true if this is the camera's name or serial number.
    fileprivate func isNamed(_ name: String) -> Bool { self.name == name || String(serial) == name }
}
