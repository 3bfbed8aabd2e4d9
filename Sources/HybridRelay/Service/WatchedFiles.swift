// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files that are read again when they change, told apart by what the system keeps about them.
///
/// Looked at from time to time rather than watched: renewed certificates come as new files, as links that point
/// elsewhere or as whole folders that are swapped, and a look catches each. A file counts as changed once it is the same
/// at two looks, or half of a file that is being written would be taken for all of it.
struct WatchedFiles {
    private struct Stamp: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int
        let written: Time
        /// Owner and mode too: a file that could not be read may be readable now.
        let changed: Time
    }

    private struct Time: Equatable {
        let seconds: Int
        let nanoseconds: Int

        init(_ time: timespec) { (seconds, nanoseconds) = (time.tv_sec, time.tv_nsec) }
    }

    private struct AwaitableState {
        /// As it was when it was last taken.
        var taken: Stamp?
        /// As it was when it was last looked at.
        var seen: Stamp?
        /// Whether it was of no use when it was taken.
        var isUseless = false
    }

    private var files: [String: AwaitableState] = [:]

    /// Files as they are now.
    init(_ paths: [String]) { add(paths) }

    /// Further files, as they are now.
    mutating func add(_ paths: [String]) {
        for path in paths {
            let stamp = Self.stamp(of: path)
            files[path] = AwaitableState(taken: stamp, seen: stamp)
        }
    }

    /// Those that are not what they were when they were last taken, or were of no use then; a file that is gone has not
    /// changed yet.
    mutating func changed() -> Set<String> {
        var changed: Set<String> = []
        for (path, var file) in files {
            let now = Self.stamp(of: path)
            let isSettled = now != nil && now == file.seen
            file.seen = now
            if isSettled, now != file.taken || file.isUseless {
                file.taken = now
                file.isUseless = false
                changed.insert(path)
            }
            files[path] = file
        }
        return changed
    }

    /// Notes files that were of no use; the reason may go without their being changed.
    mutating func areUseless(_ paths: [String]) {
        for path in paths { files[path]?.isUseless = true }
    }

    private static func stamp(of path: String) -> Stamp? {
        var status = Glibc.stat()
        guard stat(path, &status) == 0 else { return nil }
        return Stamp(
            device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino),
            size: Int(status.st_size),
            written: Time(status.st_mtim),
            changed: Time(status.st_ctim)
        )
    }
}
