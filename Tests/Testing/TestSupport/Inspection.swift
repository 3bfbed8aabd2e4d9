// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The inspection of a process by other programs of its user.
package enum Inspection {
    /// The beginning of a command line without root's privilege to inspect every process; empty for other users.
    package static let unprivileged: [String] =
        geteuid() == 0 ? ["/usr/bin/setpriv", "--bounding-set=-sys_ptrace"] : []

    /// True if this process may list the open files of programs that are not dumpable.
    ///
    /// Root may not in a container without this capability.
    package static var isUnlimited: Bool {
        let line = TestFile.text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("CapEff:") }
        let capabilities = line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) } ?? 0
        // CAP_SYS_PTRACE (linux/capability.h).
        return capabilities & 1 << 19 != 0
    }

    /// Returns true if another program of the user may open the root directory of a process, as desktop portals do.
    ///
    /// The kernel then also allows it to read the process's memory. The process must have been started with
    /// ``unprivileged``.
    package static func isAllowed(of process: Int32) async throws -> Bool {
        let command = ["/usr/bin/test", "-d", "/proc/\(process)/root/."]
        return try await SpawnedProcess(unprivileged + command).end() == 0
    }

    /// Returns the hard limit of a process on the size of core dumps.
    package static func coreLimit(of process: Int32) -> Substring? {
        let line = TestFile.text("/proc/\(process)/limits").split(separator: "\n").first { $0.hasPrefix("Max core") }
        // Four words of the name, the soft limit and the hard limit.
        return line?.split(separator: " ").dropFirst(5).first
    }
}
