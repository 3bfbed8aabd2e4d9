// SPDX-License-Identifier: Apache-2.0

import CaBLE
import FuzzInput

/// An offer that parses is written as a text that parses to the same offer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzQR(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: fuzzInput(start, count), as: UTF8.self)
    guard let offer = try? QROffer(parsing: text) else { return 0 }
    let again = try? QROffer(parsing: offer.text)
    invariant(again?.text == offer.text, "an offer reads back as it was written")
    invariant(again?.secret == offer.secret && again?.channels == offer.channels, "with all its fields")
    invariant(again?.created == offer.created && again?.hint == offer.hint, "with all its fields")
    invariant(again?.supportsLinking == offer.supportsLinking, "with all its fields")
    return 0
}
