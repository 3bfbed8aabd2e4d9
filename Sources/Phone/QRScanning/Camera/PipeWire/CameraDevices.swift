// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The kernel's devices of cameras, from which the session manager makes nodes.
package enum CameraDevices {
    /// True if there is a device, even if this user may not open it.
    package static var areThere: Bool { !paths(["video", "media"]).isEmpty }

    /// A device that this user may not open; `nil` if there is another.
    package static var forbidden: String? {
        let devices = paths(["video"])
        return devices.allSatisfy { access($0, R_OK | W_OK) != 0 } ? devices.first : nil
    }

    private static func paths(_ names: [String]) -> [String] {
        var found: [String] = []
        for name in names {
            // Numbers are given in order, but a device that was unplugged leaves a gap.
            for number in 0..<64 where access("/dev/\(name)\(number)", F_OK) == 0 {
                found.append("/dev/\(name)\(number)")
            }
        }
        return found
    }
}
