// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HybridVirtualBlueZ
import TestSupport
import Testing

/// Somebody fills the air with adverts under the same UUID while a phone is looked for.
@Suite("A flood of foreign adverts", .keepsEvidence, .serialized)
struct FloodTests {
    /// Adverts a second; each is of another device and has other bytes.
    private static let rate: UInt32 = 1_000
    /// How long there is nothing but the flood: as long as is claimed, before a release.
    private static let seconds = Thoroughness.rounds(3, thorough: 30)

    @Test("the right one is found among a thousand others a second")
    func found() async throws {
        try await Stage.set { stage in
            let options = try await RelyingParty(stage).run("create-options")
            let (client, code) = try await stage.startClient(options, extra: ["--adapter", "hci0", "--timeout", "300"])
            try await stage.air.flood("hci0", rate: Self.rate, seconds: 600)
            let begun = ContinuousClock.now
            let used = Self.processorTime(of: client.identifier)
            var (heard, lasted) = (0, 0.0)
            // As many as that time holds, however long a busy machine takes to send them.
            try await Waiting.until("the flood", within: .seconds(100), evidence: "\(heard) adverts in \(lasted) s") {
                heard = try await stage.air.floodCount("hci0").heard
                lasted = (ContinuousClock.now - begun) / .seconds(1)
                return heard >= Int(Self.rate) * Self.seconds
            }
            let share = (Self.processorTime(of: client.identifier) - used) / lasted

            let phone = try stage.startAuthenticator(code, extra: ["--adapter", "hci1"])
            try await Waiting.until("the phone's advert", within: .seconds(60), evidence: phone.errors) {
                try await !stage.air.activeAdverts().isEmpty
            }
            let appeared = ContinuousClock.now
            _ = try await client.line { $0.contains("phone found") }
            let found = ContinuousClock.now - appeared
            let (asked, answered) = (try await client.ending(), try await phone.ending())
            #expect(asked.status == 0 && answered.status == 0, "\(asked)\n\(answered)")
            // For whoever reads the log; figures are no matter of passing.
            print(
                """
                flood: \(heard) foreign adverts in \(lasted) s, \(Int(Double(heard) / lasted)) a second; \
                hybrid-client used \(Int(share * 100)) % of a processor; the phone was found after \(found)
                """
            )
        }
    }

    /// Seconds of processor time that a process has used.
    private static func processorTime(of process: Int32) -> Double {
        let stat = String(
            decoding: FileManager.default.contents(atPath: "/proc/\(process)/stat") ?? Data(),
            as: UTF8.self
        )
        // Behind the name, which may hold anything: state is the first field, user and system time 12th and 13th.
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
