// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Normalization of paths, so that a known directory is recognized.
enum AbsolutePath {
    /// Returns the absolute path, without `.`, `..` and repeated slashes.
    ///
    /// Symbolic links are kept, because a link to an unmounted disk cannot be resolved.
    static func normalize(_ path: String) -> String {
        var start = ""
        if !path.hasPrefix("/"), let current = getcwd(nil, 0) {
            start = String(cString: current) + "/"
            free(current)
        }
        var components: [Substring] = []
        for component in (start + path).split(separator: "/") where component != "." {
            if component == ".." { _ = components.popLast() } else { components.append(component) }
        }
        return "/" + components.joined(separator: "/")
    }

    /// Splits a path into its folder and the name in it; `nil` for the root.
    static func split(_ path: String) -> (folder: String, name: String)? {
        let path = normalize(path)
        guard let slash = path.lastIndex(of: "/"), path.index(after: slash) < path.endIndex else { return nil }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
    }

    /// Returns the path with symbolic links resolved, as far as its parts exist.
    static func resolve(_ path: String) -> String {
        guard let real = realpath(path, nil) else {
            guard let (folder, name) = split(path) else { return "/" }
            return normalize(resolve(folder) + "/" + name)
        }
        defer { free(real) }
        return String(cString: real)
    }

    /// Returns true for a symbolic link whose target does not exist.
    static func isDanglingLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK && access(path, F_OK) != 0
    }
}
