// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files that are reloaded when their metadata changes.
///
/// They are polled rather than watched: renewed certificates arrive as new files, changed links or swapped directories,
/// and polling finds each. A changed file counts only once it is the same at two polls, so that a half-written one is
/// not read.
struct WatchedFiles {
    /// Metadata that differ between two versions of a file.
    private typealias Stamp = [Int]

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
        // The time of the last status change also differs if a new owner or mode makes a file readable.
        return [
            Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
        ]
    }
}
