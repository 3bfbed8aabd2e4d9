// SPDX-License-Identifier: Apache-2.0

import CTAP
import FuzzInput

/// A request that parses is written as bytes that parse to the same request.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCTAPRequest(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let request = try? CTAPRequest(parsing: fuzzInput(start, count)) else { return 0 }
    let again = try? CTAPRequest(parsing: request.encoded)
    invariant(again?.encoded == request.encoded, "a request reads back")
    return 0
}
