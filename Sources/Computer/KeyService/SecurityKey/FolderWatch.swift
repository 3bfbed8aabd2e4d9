// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A descriptor that becomes readable when a file appears in one of several folders.
final class FolderWatch {
    /// The descriptor to poll; -1, which poll(2) ignores, if nothing can be watched.
    let descriptor: CInt

    /// Watches folders; in place of a folder that does not exist yet, the next existing one above it.
    init(_ folders: [String]) {
        descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        guard descriptor >= 0 else { return }
        for folder in folders {
            var path = folder[...]
            while inotify_add_watch(descriptor, String(path), UInt32(IN_CREATE | IN_MOVED_TO | IN_ATTRIB)) < 0 {
                guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { break }
                path = path[..<slash]
            }
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
