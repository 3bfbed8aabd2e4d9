// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Finds the program that asks.
enum PinentryProgram {
    /// What is looked for when nobody names a program.
    static let candidates = ["pinentry", "pinentry-curses", "pinentry-tty"]

    /// The path of a program: as it is if it holds a slash, else from `PATH`.
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
