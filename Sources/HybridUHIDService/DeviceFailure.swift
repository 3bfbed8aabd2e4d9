// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The reason why a device was not created, or why it ended before its client closed the connection.
package enum DeviceFailure: Error, Hashable, CustomStringConvertible {
    /// `/dev/uhid` can't be opened, with the system's error number.
    case notOpened(CInt)
    /// The kernel refused a request or reports no more events, with the system's error number.
    case deviceFailed(CInt)
    /// The user may not have a device, or not any more.
    case notAdmitted
    /// The user has a device already, or there are too many.
    case secondDevice
    /// The client sent a message of another length, in bytes.
    case wrongLength(Int)
    /// The client leaves reports unread.
    case clientStalled
    /// No descriptors or threads are left.
    case noResources

    /// The cause and the remedy on one line.
    package var description: String {
        switch self {
        case .notOpened(let code): "/dev/uhid: \(String(cString: strerror(code))); see FILES in hybrid-uhid(8)"
        case .deviceFailed(let code): "the kernel ended the device: \(String(cString: strerror(code))); see dmesg"
        case .notAdmitted: "not active on seat0; switch to a session of this user, or list it in HYBRID_UHID_USERS"
        case .secondDevice: "this user has a device already, or 16 users have; end the other hybrid-key first"
        case .wrongLength(let length): "a message of \(length) bytes instead of 64; update hybrid-key"
        case .clientStalled: "512 reports were left unread; restart hybrid-key"
        case .noResources: "no descriptors or threads left; restart hybrid-uhid.service"
        }
    }
}
