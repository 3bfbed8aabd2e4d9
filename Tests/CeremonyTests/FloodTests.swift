// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing
import VirtualBlueZ

/// Somebody fills the air with adverts under the same UUID while a phone is looked for.
@Suite("A flood of foreign adverts", .keepsEvidence, .serialized)
struct FloodTests {
    /// Adverts a second; each is of another device and has other bytes.
    private static let rate = 1_000
    /// How long there is nothing but the flood: as long as is claimed, before a release.
    private static let seconds = Thoroughness.rounds(3, thorough: 30)

    private actor Tally {
        private(set) var sent = 0
        func count() { sent += 1 }
    }

    @Test("the right one is found among a thousand others a second")
    func found() async throws {
        try await Stage.set { stage in
            let options = try await RelyingParty(stage).run("create-options")
            let (client, code) = try await stage.startClient(options, extra: ["--adapter", "hci0", "--timeout", "300"])
            let tally = Tally()
            let begun = ContinuousClock.now
            let used = Self.processorTime(of: client.identifier)
            let flood = Task { try await Self.flood(stage, begun, tally) }
            try await Task.sleep(for: .seconds(Self.seconds))
            let lasted = ContinuousClock.now - begun
            // A machine that can't send so many makes no flood.
            #expect(await tally.sent > 10 * Self.seconds)
            let share = (Self.processorTime(of: client.identifier) - used) / (lasted / .seconds(1))
            let sent = await tally.sent

            let phone = try stage.startAuthenticator(code, extra: ["--adapter", "hci1"])
            try await Waiting.until("the phone's advert", within: .seconds(60), evidence: phone.errors) {
                try await !stage.air.activeAdverts().isEmpty
            }
            let appeared = ContinuousClock.now
            _ = try await client.line { $0.contains("phone found") }
            let found = ContinuousClock.now - appeared
            flood.cancel()
            let (asked, answered) = (try await client.ending(), try await phone.ending())
            #expect(asked.status == 0 && answered.status == 0, "\(asked)\n\(answered)")
            _ = await flood.result
            // For whoever reads the log; figures are no matter of passing.
            print(
                """
                flood: \(sent) foreign adverts in \(lasted), \(Int(Double(sent) / (lasted / .seconds(1)))) a second; \
                hybrid-client used \(Int(share * 100)) % of a processor; the phone was found after \(found)
                """
            )
        }
    }

    /// Sends adverts of the length of real ones at the rate, until cancelled; the air remembers the last 2,000.
    private static func flood(_ stage: Stage, _ begun: ContinuousClock.Instant, _ tally: Tally) async throws {
        var generator = SeededGenerator(seed: 1)
        var handles: [String] = []
        var sent = 0
        while !Task.isCancelled {
            handles.append(try await stage.air.inject(generator.bytes(20)))
            if handles.count > 2_000 { try await stage.air.remove(handles.removeFirst()) }
            sent += 1
            await tally.count()
            try? await Task.sleep(until: begun + .seconds(1) * sent / rate, clock: .continuous)
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
