// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files that are read again when they change, told apart by what the system keeps about them.
///
/// Looked at from time to time rather than watched: renewed certificates come as new files, as links that point
/// elsewhere or as whole folders that are swapped, and a look catches each.
struct WatchedFiles {
    private struct Stamp: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    private var stamps: [String: Stamp?] = [:]

    /// Files as they are now.
    init(_ paths: [String]) {
        for path in paths { stamps[path] = .some(Self.stamp(of: path)) }
    }

    /// Those that are not what they were when last looked at; a file that is gone has not changed yet.
    mutating func changed() -> Set<String> {
        var changed: Set<String> = []
        for (path, before) in stamps {
            guard let now = Self.stamp(of: path), now != before else { continue }
            stamps[path] = now
            changed.insert(path)
        }
        return changed
    }

    private static func stamp(of path: String) -> Stamp? {
        var status = Glibc.stat()
        guard stat(path, &status) == 0 else { return nil }
        return Stamp(
            device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino),
            size: Int(status.st_size),
            seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec
        )
    }
}
