// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The parts of the system that the virtual security key needs, as found on this computer.
package struct SecurityKeyInspection: Sendable {
    /// The path of the socket of hybrid-uhid, the helper that creates virtual devices.
    package static let helperPath = "/run/hybrid-uhid/socket"

    /// True if the kernel can create virtual devices.
    package let hasModule: Bool
    /// True if the helper's socket exists.
    package let hasHelper: Bool
    /// All FIDO devices.
    package let devices: [FIDODevice]

    /// Inspects the computer; no connection is made, because each would create a device.
    package static func inspect() -> SecurityKeyInspection {
        var status = stat()
        let hasHelper = lstat(helperPath, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        return SecurityKeyInspection(
            hasModule: access("/sys/class/misc/uhid", F_OK) == 0 || access("/dev/uhid", F_OK) == 0,
            hasHelper: hasHelper,
            devices: FIDODevice.all()
        )
    }

    /// The virtual devices; one that is not accessible may belong to another user.
    package var virtualDevices: [FIDODevice] { devices.filter(\.isVirtual) }
    /// The device that programs of this user can open.
    package var usableDevice: FIDODevice? { virtualDevices.first(where: \.isAccessible) }
    /// The devices of other makers.
    package var otherDevices: [FIDODevice] { devices.filter { !$0.isVirtual } }
}
