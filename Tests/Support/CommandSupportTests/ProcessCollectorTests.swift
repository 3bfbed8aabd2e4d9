// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import HybridCommandSupport

@Suite("Metrics of the process", .serialized)
struct ProcessCollectorTests {
    private func read() throws -> PrometheusReader {
        let registry = PrometheusRegistry()
        registry.addCollector(ProcessCollector().collect)
        return try PrometheusReader(registry.render())
    }

    @Test("all metrics exist with the right type and plausible values")
    func values() throws {
        let read = try read()
        let types = [
            "process_start_time_seconds": "gauge", "process_resident_memory_bytes": "gauge",
            "process_open_fds": "gauge",
            "process_max_fds": "gauge", "process_cpu_seconds_total": "counter",
        ]
        for (name, type) in types {
            #expect(read.metrics[name]?.type == type)
            #expect(read.metrics[name]?.help != nil)
        }
        let now = Double(time(nil))
        let start = try #require(read["process_start_time_seconds"])
        // No test run lasts a day, and /proc counts in hundredths.
        #expect(start > now - 86_400 && start < now + 2)
        let memory = try #require(read["process_resident_memory_bytes"])
        #expect(memory > 1_000_000 && memory < 100_000_000_000)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
        #expect(read["process_max_fds"] == Double(limit.rlim_cur))
        #expect(try #require(read["process_cpu_seconds_total"]) > 0)
    }

    @Test("the start equals that of /proc and does not change")
    func start() throws {
        // The time of this process's directory in /proc is that of its first use, so it does not help. The boot time in
        // /proc/stat has whole seconds, hence the tolerance.
        let boot = try #require(
            String(decoding: try readWholeFile("/proc/stat", atMost: 1 << 20), as: UTF8.self).split(separator: "\n")
                .first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
        )
        let stat = String(decoding: try readWholeFile("/proc/self/stat", atMost: 4096), as: UTF8.self)
        let ticks = try #require(stat.split(separator: ")").last?.split(separator: " ").dropFirst(19).first)
        let expected = boot + (try #require(Double(ticks))) / Double(sysconf(Int32(_SC_CLK_TCK)))
        let first = try #require(read()["process_start_time_seconds"])
        #expect(abs(first - expected) < 2)
        #expect(abs(first - (try #require(read()["process_start_time_seconds"]))) < 0.1)
    }

    @Test("open descriptors are counted correctly")
    func descriptors() async throws {
        // Other tests open and close descriptors meanwhile, so this waits for a moment without changes.
        try await Waiting.until("the right count of descriptors") {
            // Only up to the highest, to be quick; a descriptor opened beyond makes the counts differ.
            let highest = Self.numbers.last { Self.isOpen($0) } ?? 0
            let before = (0...highest).count(where: Self.isOpen)
            let counted = try read()["process_open_fds"]
            return before == (0...highest).count(where: Self.isOpen) && counted == Double(before)
        }
    }

    /// The numbers that descriptors may have.
    private static var numbers: Range<Int32> {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
        return 0..<Int32(clamping: min(limit.rlim_cur, 20_000))
    }

    private static func isOpen(_ number: Int32) -> Bool { fcntl(number, F_GETFD) >= 0 }

    @Test("processor time equals the clock of the process")
    func processorTime() throws {
        func clock() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = clock()
        while clock() < start + 0.02 {}
        let (before, value, after) = (clock(), try read()["process_cpu_seconds_total"] ?? 0, clock())
        // The kernel measures the two differently; they differ by some ticks.
        #expect(value > before - 0.05 && value < after + 0.05)
    }
}
