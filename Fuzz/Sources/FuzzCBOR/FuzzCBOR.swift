// SPDX-License-Identifier: Apache-2.0

import CBOR
import FuzzInput

/// What strict mode takes is written again byte for byte; what lenient mode takes is the same value in canonical form.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCBOR(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = fuzzInput(start, count)
    let lenient = try? CBORDecoder.decode(input, mode: .lenient)
    if let value = try? CBORDecoder.decode(input, mode: .strict) {
        invariant(CBOREncoder.encode(value) == input, "strict input is canonical")
        invariant(lenient == value, "lenient mode takes what strict mode takes")
    }
    if let lenient {
        let canonical = CBOREncoder.encode(lenient)
        invariant(canonical.count <= input.count, "the canonical form is the shortest")
        invariant((try? CBORDecoder.decode(canonical, mode: .strict)) == lenient, "the canonical form means the same")
    }
    return 0
}
