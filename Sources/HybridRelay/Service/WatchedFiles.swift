// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files that are reloaded when their metadata changes.
///
/// They are polled, because renewed certificates arrive as new files, changed links or exchanged directories, and
/// polling detects each of these. A changed file counts only when it is the same at two polls, so that a half-written
/// file is not read.
struct WatchedFiles {
    /// Metadata that differs between two versions of a file.
    private typealias Stamp = [Int]

    private struct FileState {
        /// The stamp when the file was last loaded.
        var loaded: Stamp?
        /// The stamp at the last poll.
        var polled: Stamp?
        /// True if the last attempt to load the file failed.
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

    /// Returns the files that have changed since they were last loaded, or that failed to load.
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

    /// Marks files that failed to load, so that they are loaded again.
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
