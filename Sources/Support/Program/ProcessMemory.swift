// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
private import Glibc

/// Protection of this process's memory, which holds keys or a code's secret.
///
/// Programs that this process starts do not inherit the protection.
public enum ProcessMemory {
    /// Keeps the memory out of core dumps and away from other programs of the same user.
    ///
    /// The kernel then dumps no core, not even into a pipe, and only root can trace the process, read its memory or list
    /// its open files. To be called before the process holds a secret.
    public static func protect() { _ = hybrid_set_dumpable(0) }

    /// Runs `body` while other programs of the same user can inspect this process.
    ///
    /// Some services inspect their callers and refuse those that they cannot. The process must not hold a secret yet.
    public static func whileInspectable<Result, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        _ = hybrid_set_dumpable(1)
        defer { protect() }
        return try await body()
    }

    /// Forbids core dumps of this process and of all programs that it starts.
    ///
    /// The limit is one byte. The kernel ignores a limit of zero if cores go into a pipe, such as that of
    /// systemd-coredump, but writes nothing with a limit of one (fs/coredump.c, since 2.6.32). Only root can raise a
    /// hard limit of zero that this process has inherited; otherwise it stays, and only ``protect()`` has an effect.
    public static func forbidCoreDumps() {
        var limit = rlimit(rlim_cur: 1, rlim_max: 1)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }
}
