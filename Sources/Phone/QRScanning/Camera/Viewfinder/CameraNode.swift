// SPDX-License-Identifier: Apache-2.0

/// A camera that PipeWire offers.
///
/// Its names come from another program. A program that shows them treats them as plain text.
public struct CameraNode: Hashable, Sendable {
    /// The side of the device on which a camera is.
    public enum Location: String, Hashable, Sendable {
        /// The side of the screen.
        case front
        /// The side away from the user.
        case back
        /// Outside the device, such as on a cable.
        case external
    }

    /// The name for programs (`node.name`), which stays the same after a restart.
    public let name: String
    /// The name for people (`node.description`), without control characters and with at most 64 characters.
    public let title: String
    /// The side of the device; `nil` if it is unknown, as for cameras on USB.
    public let location: Location?
    /// The turns by 90 degrees clockwise that put its pictures upright, if a picture does not state them itself.
    let quarterTurns: Int
    /// The number of the node while the daemon runs (`object.serial`).
    let serial: UInt64
    /// True if its name says that it sees infrared light, as cameras for the recognition of faces do.
    let isInfrared: Bool
    /// True if it offers no format with colors.
    let isGrayOnly: Bool
}

/// A rule that selects one of several cameras.
public enum CameraSelection: Hashable, Sendable {
    /// The camera with this name if it is present, else the best: on the back, else without a location, else any.
    case automatic(last: String?)
    /// Only the camera with this name (`node.name`) or serial number.
    case only(String)
}
