// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Search for the pinentry program.
enum PinentryProgram {
    /// Names to look for if none is given.
    static let candidates = ["pinentry", "pinentry-curses", "pinentry-tty"]

    /// Returns the path of a program: the name itself if it contains a slash, otherwise the first match in `PATH`.
    static func find(_ name: String?, environment: [String: String]) throws(PinentryError) -> String {
        let names = name.map { [$0] } ?? candidates
        for name in names {
            if name.contains("/") {
                if isProgram(name) { return name }
                if access(name, F_OK) == 0 { throw .cannotRun(name) }
            } else {
                let path = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
                for directory in path.split(separator: ":") where isProgram("\(directory)/\(name)") {
                    return "\(directory)/\(name)"
                }
            }
        }
        throw .notFound(names.joined(separator: ", "))
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
