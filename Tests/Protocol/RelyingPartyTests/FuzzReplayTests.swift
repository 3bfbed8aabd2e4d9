// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport
import Testing

@testable import HybridRelyingParty

/// Seeds and former crashes of the fuzzer, with the fuzz targets, whose source is linked here.
@Suite("The fuzz corpus of responses")
struct RelyingPartyFuzzReplayTests {
    @Test("Registrations")
    func registrations() throws {
        let replay = try FuzzCorpus.replay("registration", fuzzRegistration)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 3, "the corpus contains registrations that pass")
        #expect(replay.refused.count >= 3)
    }

    @Test("Sign-ins")
    func authentications() throws {
        let replay = try FuzzCorpus.replay("authentication", fuzzAuthentication)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= 2, "the corpus contains sign-ins that pass")
        #expect(replay.refused.count >= 3)
    }

    @Test("random changes to the seeds keep every rule", arguments: ["registration", "authentication"])
    func randomChanges(target: String) throws {
        let run = target == "registration" ? fuzzRegistration : fuzzAuthentication
        let seeds = try FuzzCorpus.inputs(target)
        var random = SeededGenerator()
        for _ in 0..<Thoroughness.rounds(300, thorough: 100_000) {
            var input = seeds[random.number(0...(seeds.count - 1))].bytes
            for _ in 0..<random.number(1...4) where !input.isEmpty {
                let index = random.number(0...(input.count - 1))
                switch random.number(0...3) {
                case 0: input[index] ^= 1 << UInt8(random.number(0...7))
                case 1: input.removeSubrange(index..<min(input.count, index + random.number(1...40)))
                case 2: input.insert(contentsOf: random.bytes(random.number(1...3)), at: index)
                default:
                    let end = min(input.count, index + random.number(1...40))
                    input.insert(contentsOf: input[index..<end], at: end)
                }
            }
            #expect(throws: Never.self, "\(random)") { try run(input) }
        }
    }

    @Test("the nesting of JSON is bounded")
    func nesting() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(JSONText(decodingUTF8: nested(JSONText.maximumDepth)) != nil)
        #expect(JSONText(decodingUTF8: nested(JSONText.maximumDepth + 1)) == nil)
    }
}
