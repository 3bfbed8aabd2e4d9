// SPDX-License-Identifier: Apache-2.0

import CaBLE
import FuzzInput

/// First messages and later ones, linking information included, read back as they are written.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPostHandshake(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = fuzzInput(start, count)
    if let message = try? PostHandshakeMessage(parsing: input) {
        let again = try? PostHandshakeMessage(parsing: message.encoded)
        invariant(again?.info == message.info && again?.features == message.features, "a first message reads back")
        invariant((message.info != nil) == message.features.contains(.ctap), "getInfo comes with CTAP")
    }
    if let message = try? ChannelMessage(parsing: input) {
        let again = try? ChannelMessage(parsing: message.encoded)
        invariant(again?.encoded == message.encoded, "a message reads back")
    }
    return 0
}
