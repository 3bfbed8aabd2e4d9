// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Seeds and former crashes of the fuzzer.
@Suite("The corpus of age")
struct AgeFuzzReplayTests {
    @Test("Identities, their data, files and conversations")
    func replay() throws {
        let targets: [(String, ([UInt8]) throws -> Bool)] = [
            ("age-identity", fuzzAgeIdentity), ("age-sealed", fuzzAgeSealed), ("age-file", fuzzAgeFile),
            ("age-plugin", fuzzAgePlugin),
        ]
        for (name, target) in targets {
            let replay = try FuzzCorpus.replay(name, target)
            #expect(replay.broken == [])
            #expect(replay.taken.count >= 4, "the corpus of \(name) contains valid inputs")
            #expect(replay.refused.count >= 1, "the corpus of \(name) contains invalid inputs")
        }
    }
}
