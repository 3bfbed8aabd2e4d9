// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// One spelling for a path, so that a directory is known again.
enum AbsolutePath {
    /// The path from the root, without `.`, `..` and doubled slashes; symbolic links stay as they are, because
    /// what is not mounted now can't be followed.
    static func make(_ path: String) -> String {
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

    /// The folder of a path and the name in it; `nil` for the root.
    static func split(_ path: String) -> (folder: String, name: String)? {
        let path = make(path)
        guard let slash = path.lastIndex(of: "/"), path.index(after: slash) < path.endIndex else { return nil }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), String(path[path.index(after: slash)...]))
    }

    /// The same with symbolic links followed, if everything on the way exists.
    static func resolve(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}
