// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import HybridUHID

@Suite("The priority of the service", .timeLimit(.minutes(5)))
struct PriorityTests {
    /// `SCHED_BATCH` of sched(7), which stands for the real-time policy: that needs a privilege, and threads inherit both
    /// in the same way.
    private static let batch: CInt = 3

    /// Returns the number of this process's threads with a scheduling policy.
    private func threads(with policy: CInt) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
            .count { sched_getscheduler(pid_t($0) ?? -1) == policy }
    }

    @Test("belongs to the readers of events and to the thread that starts them, not to what users cause")
    func readers() async throws {
        try await TestFolder.with { folder in
            #expect(try threads(with: Self.batch) == 0)
            let service = try TestService(folder, scheduling: Self.batch)
            let device = try await service.device()
            try await Waiting.until("the reader") { try threads(with: Self.batch) >= 2 }
            // All threads of the connection exist by now, because the device has been created.
            #expect(try threads(with: Self.batch) == 2)
            withExtendedLifetime(device) {}
        }
    }
}
