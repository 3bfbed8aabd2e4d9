// SPDX-License-Identifier: Apache-2.0

/// File systems of other operating systems, whose permissions are those of the mount: `chmod` has no effect on them.
package enum ForeignFileSystem: Hashable, Sendable {
    /// FAT or exFAT, as on most removable drives.
    case fat
    /// NTFS of the kernel.
    case ntfs
    /// A share by SMB.
    case smb
    /// A drive of Windows in the Windows Subsystem for Linux, or a folder of a virtual machine's host.
    case host
    /// A program that implements a file system, such as NTFS-3G.
    case program

    /// Creates a value from `f_type` of `statfs(2)`; `nil` for file systems that keep permissions.
    init?(type: UInt32) {
        switch type {
        case 0x4D44, 0x2011_BAB0: self = .fat
        case 0x5346_544E, 0x7366_746E: self = .ntfs
        case 0x517B, 0xFF53_4D42, 0xFE53_4D42: self = .smb
        case 0x0102_1997, 0x5346_4F4D, 0x786F_4256: self = .host
        case 0x6573_5546: self = .program
        default: return nil
        }
    }

    /// The file system and the option that gives it other permissions, as part of a sentence.
    var remedy: String {
        let (name, option) =
            switch self {
            case .fat: ("FAT or exFAT", "mount it with the option umask=077")
            case .ntfs: ("NTFS", "mount it with the option umask=077")
            case .smb: ("SMB", "mount it with the options file_mode=0600,dir_mode=0700")
            case .host: ("another system's drive", "in WSL, mount it with the option metadata and run chmod 700")
            case .program: ("a mounted program (FUSE)", "mount it with the option umask=077, or run chmod 700")
            }
        return "\(name), where access is set for the whole drive; \(option)"
    }
}
