// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files that are reloaded when their metadata changes.
///
/// They are polled rather than watched: renewed certificates arrive as new files, changed links or swapped directories,
/// and polling finds each. A changed file counts only once it is the same at two polls, so that a half-written one is
/// not read.
struct WatchedFiles {
    private struct Stamp: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int
        let modified: Time
        /// Also changes with owner and mode, which may make a file readable.
        let changed: Time
    }

    private struct Time: Equatable {
        let seconds: Int
        let nanoseconds: Int

        init(_ time: timespec) { (seconds, nanoseconds) = (time.tv_sec, time.tv_nsec) }
    }

    private struct FileState {
        /// Stamp when it was last loaded.
        var loaded: Stamp?
        /// Stamp at the last poll.
        var polled: Stamp?
        /// True if the last attempt to load it failed.
        var hasFailed = false
    }

    private var files: [String: FileState] = [:]

    /// Starts watching files in their current state.
    init(_ paths: [String]) { add(paths) }

    /// Adds files in their current state.
    mutating func add(_ paths: [String]) {
        for path in paths {
            let stamp = Self.stamp(of: path)
            files[path] = FileState(loaded: stamp, polled: stamp)
        }
    }

    /// Returns the files that have changed since they were last loaded, or failed to load then.
    ///
    /// A missing file does not count as changed.
    mutating func changed() -> Set<String> {
        var changed: Set<String> = []
        for (path, var file) in files {
            let now = Self.stamp(of: path)
            let isSettled = now != nil && now == file.polled
            file.polled = now
            if isSettled, now != file.loaded || file.hasFailed {
                file.loaded = now
                file.hasFailed = false
                changed.insert(path)
            }
            files[path] = file
        }
        return changed
    }

    /// Marks files that failed to load.
    ///
    /// The cause may disappear without a change of the files.
    mutating func markFailed(_ paths: [String]) {
        for path in paths { files[path]?.hasFailed = true }
    }

    private static func stamp(of path: String) -> Stamp? {
        var status = Glibc.stat()
        guard stat(path, &status) == 0 else { return nil }
        return Stamp(
            device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino),
            size: Int(status.st_size),
            modified: Time(status.st_mtim),
            changed: Time(status.st_ctim)
        )
    }
}
