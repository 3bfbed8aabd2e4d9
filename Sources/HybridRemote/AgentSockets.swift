// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridProgram

/// The sockets through which SSH agents may be forwarded to this host.
///
/// Browsers of a remote desktop, tmux and long-lived shells have no `SSH_AUTH_SOCK`, or that of an ended session.
enum AgentSockets {
    /// Maximum number of sockets that are tried.
    private static let maximumCount = 32
    /// The folders and patterns of sshd: up to OpenSSH 10.0, and newer.
    private static let patterns = ["/tmp/ssh-*/agent.*", "~/.ssh/agent/s.*.sshd.*"]

    /// Returns the paths of sockets of this user: that of the environment first, then the newest.
    static func paths(_ environment: [String: String] = ProcessEnvironment.variables) -> [String] {
        let named = environment["SSH_AUTH_SOCK"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        var found = patterns.flatMap { matches($0, home: environment["HOME"]) }.compactMap { path in
            Self.time(ofOwnSocket: path).map { (path, $0) }
        }
        found.sort { $0.1 > $1.1 }
        var paths = named.flatMap { path in time(ofOwnSocket: path).map { _ in [path] } } ?? []
        for (path, _) in found where !paths.contains(path) { paths.append(path) }
        return Array(paths.prefix(maximumCount))
    }

    /// Returns the paths that match a pattern of glob(7).
    private static func matches(_ pattern: String, home: String?) -> [String] {
        guard !pattern.hasPrefix("~") || home != nil else { return [] }
        let path = pattern.hasPrefix("~") ? (home ?? "") + pattern.dropFirst() : pattern
        var result = glob_t()
        defer { globfree(&result) }
        guard glob(path, GLOB_NOSORT, nil, &result) == 0 else { return [] }
        return (0..<Int(result.gl_pathc)).compactMap { index in result.gl_pathv[index].map { String(cString: $0) } }
    }

    /// Returns the time of a socket's last change in nanoseconds; `nil` for anything but a socket of this user.
    private static func time(ofOwnSocket path: String) -> Int? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
            return nil
        }
        return status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
    }
}
