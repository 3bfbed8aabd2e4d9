// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridVirtualBlueZ
import TestSupport
import Testing

/// Foreign adverts with the same UUID while the client scans for a phone.
@Suite("A flood of foreign adverts", .keepsEvidence, .serialized)
struct FloodTests {
    /// The number of adverts per second, each from another device and with other bytes.
    private static let rate: UInt32 = 1_000
    /// The seconds of flood before the phone's advert; the documented time before a release.
    private static let seconds = Thoroughness.rounds(3, thorough: 30)

    @Test("the phone's advert is found among a thousand others per second")
    func found() async throws {
        try await CeremonyEnvironment.run { environment in
            let options = try await environment.site("create-options")
            let (client, code) = try await environment.startClient(
                options,
                extra: ["--adapter", "hci0", "--timeout", "300"]
            )
            try await environment.air.flood("hci0", rate: Self.rate, seconds: 600)
            let start = ContinuousClock.now
            let used = Self.processorTime(of: client.identifier)
            var (received, lasted) = (0, 0.0)
            // Counted in adverts, because a busy machine needs longer to send them.
            try await Waiting.until("the flood", within: .seconds(100), evidence: "\(received) adverts in \(lasted) s")
            {
                received = try await environment.air.floodCount("hci0").received
                lasted = (ContinuousClock.now - start) / .seconds(1)
                return received >= Int(Self.rate) * Self.seconds
            }
            let share = (Self.processorTime(of: client.identifier) - used) / lasted

            let phone = try environment.startAuthenticator(code, extra: ["--adapter", "hci1"])
            try await Waiting.until("the phone's advert", evidence: phone.errors) {
                try await !environment.air.activeAdverts().isEmpty
            }
            let appeared = ContinuousClock.now
            _ = try await client.line { $0.contains("phone found") }
            let found = ContinuousClock.now - appeared
            let (asked, answered) = (try await client.ending(), try await phone.ending())
            #expect(asked.status == 0 && answered.status == 0, "\(asked)\n\(answered)")
            // For the log only; the figures do not affect the result.
            print(
                """
                flood: \(received) foreign adverts in \(lasted) s, \(Int(Double(received) / lasted)) a second; \
                hybrid-client used \(Int(share * 100)) % of a processor; the phone was found after \(found)
                """
            )
        }
    }

    /// Returns the processor time of a process in seconds.
    private static func processorTime(of process: Int32) -> Double {
        let stat = TestFile.text("/proc/\(process)/stat")
        // The name may contain any character. After it, the state is field 1, user and system time are 12 and 13.
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
