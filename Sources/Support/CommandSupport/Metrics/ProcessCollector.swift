// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The metrics of this process under the names that all Prometheus clients use.
///
/// Values that cannot be read, because there is no /proc or no descriptor is left, are omitted.
package struct ProcessCollector: Sendable {
    /// The start of the process; read once, so that a later change of the clock does not look like a restart.
    private let startTime: Double?

    /// Creates a collector for this process.
    package init() {
        startTime = Self.readStartTime()
    }

    /// Returns the current metrics; pass it to ``PrometheusRegistry/addCollector(_:)``.
    package func collect() -> [PrometheusReading] {
        [
            startTime.map {
                .gauge("process_start_time_seconds", help: "Start of the process, in seconds since 1970.", $0)
            },
            Self.residentMemory().map { .gauge("process_resident_memory_bytes", help: "Memory that is in RAM.", $0) },
            Self.openDescriptors().map { .gauge("process_open_fds", help: "Open file descriptors.", $0) },
            Self.maximumDescriptors().map {
                .gauge("process_max_fds", help: "Greatest number of open file descriptors.", $0)
            },
            Self.cpuTime().map {
                .counter("process_cpu_seconds_total", help: "Processor time in user and system mode.", $0)
            },
        ].compactMap(\.self)
    }

    private static func readStartTime() -> Double? {
        // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
        guard let text = read("/proc/self/stat"), let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        // Field 22 in proc(5); the array begins with field 3.
        guard fields.count > 19, let ticks = Double(fields[19]) else { return nil }
        let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
        guard ticksPerSecond > 0 else { return nil }
        var (now, sinceBoot) = (timespec(), timespec())
        clock_gettime(CLOCK_REALTIME, &now)
        clock_gettime(CLOCK_BOOTTIME, &sinceBoot)
        let age = seconds(sinceBoot) - ticks / ticksPerSecond
        return ((seconds(now) - age) * 100).rounded() / 100
    }

    private static func seconds(_ time: timespec) -> Double { Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 }

    private static func residentMemory() -> Double? {
        guard let text = read("/proc/self/statm") else { return nil }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Double(fields[1]) else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static func openDescriptors() -> Double? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            // "." and ".." are not descriptors.
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        // The directory itself was open, too.
        return Double(count - 1)
    }

    private static func maximumDescriptors() -> Double? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit) == 0 else { return nil }
        return Double(limit.rlim_cur)
    }

    private static func cpuTime() -> Double? {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return nil }
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    private static func read(_ path: String) -> String? {
        (try? readWholeFile(path, atMost: 4096)).map { String(decoding: $0, as: UTF8.self) }
    }
}
