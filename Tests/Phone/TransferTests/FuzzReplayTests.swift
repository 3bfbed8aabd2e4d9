// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Replays the fuzzers' seeds and former crashes through the fuzz targets.
@Suite("The fuzz corpus of transfers")
struct TransferFuzzReplayTests {
    @Test(
        "Every target accepts some inputs and refuses others",
        arguments: [
            ("transfer-message", 8, 5, fuzzTransferMessage), ("transfer-file", 2, 3, fuzzTransferFile),
        ] as [(String, Int, Int, @Sendable ([UInt8]) throws -> Bool)]
    )
    func replay(
        target: String,
        fewestTaken: Int,
        fewestRefused: Int,
        run: @Sendable ([UInt8]) throws -> Bool
    ) throws {
        let replay = try FuzzCorpus.replay(target, run)
        #expect(replay.broken == [])
        #expect(replay.taken.count >= fewestTaken, "\(replay.taken)")
        #expect(replay.refused.count >= fewestRefused, "\(replay.refused)")
    }
}
