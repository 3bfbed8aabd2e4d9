// SPDX-License-Identifier: Apache-2.0

import CBOR
import TestSupport
import Testing

/// The fuzzer's seeds and former crashes, through the same calls as in the fuzz target.
@Suite("CBOR fuzz corpus")
struct CBORCorpusTests {
    @Test("Every input keeps the invariants of the fuzz target")
    func replay() throws {
        let inputs = try FuzzCorpus.inputs("cbor")
        #expect(!inputs.isEmpty)
        for input in inputs {
            if let value = try? CBORDecoder.decode(input.bytes, mode: .strict) {
                #expect(CBOREncoder.encode(value) == input.bytes, "\(input.name)")
            }
            if let value = try? CBORDecoder.decode(input.bytes, mode: .lenient) {
                #expect(try CBORDecoder.decode(CBOREncoder.encode(value), mode: .strict) == value, "\(input.name)")
            }
        }
    }
}
