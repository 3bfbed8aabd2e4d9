// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The kernel's devices of cameras, from which the session manager makes nodes.
package enum CameraDevices {
    /// True if there is a device, even if this user may not open it.
    package static var areThere: Bool { !paths.isEmpty }

    /// The devices that this user may not open.
    package static var forbidden: [String] { paths.filter { access($0, R_OK | W_OK) != 0 } }

    private static var paths: [String] {
        var found: [String] = []
        for name in ["video", "media"] {
            // Numbers are given in order, but a device that was unplugged leaves a gap.
            for number in 0..<64 where access("/dev/\(name)\(number)", F_OK) == 0 { found.append("/dev/\(name)\(number)") }
        }
        return found
    }
}
