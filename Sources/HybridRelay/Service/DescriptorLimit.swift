// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How many files the process may have open.
enum DescriptorLimit {
    /// Takes as many as the system lets this process have, since the usual soft limit of 1,024 is 500 tunnels; returns
    /// how many those are.
    static func raise() -> Int {
        var limit = rlimit()
        let files = __rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue))
        guard getrlimit(files, &limit) == 0 else { return 1024 }
        limit.rlim_cur = limit.rlim_max
        setrlimit(files, &limit)
        guard getrlimit(files, &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }
}
