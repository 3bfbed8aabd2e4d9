// SPDX-License-Identifier: Apache-2.0

import CaBLE
import FuzzInput
import NIOCore
import RelayCore

/// A request head is read alike in one piece and in pieces; the first byte says how large they are.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWebSocketRequest(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = fuzzInput(start, count)
    guard let size = input.first.map({ Int($0) + 1 }) else { return 0 }
    let bytes = Array(input.dropFirst())
    let whole = outcome(bytes, pieces: bytes.count + 1)
    invariant(outcome(bytes, pieces: size) == whole, "pieces don't matter")
    _ = try? UpgradeRequest(parsing: bytes)
    return 0
}

/// The request and the number of bytes behind it, or the refusal, or that the head goes on.
private func outcome(_ bytes: [UInt8], pieces size: Int) -> String {
    var reader = RequestHeadReader(maximumLength: 8192)
    var rest = bytes[...]
    while !rest.isEmpty {
        let piece = rest.prefix(size)
        rest = rest.dropFirst(size)
        do throws(UpgradeRefusal) {
            if let (request, behind) = try reader.receive(ByteBuffer(bytes: piece)) {
                return "\(request.response(routing: nil)) \(request.path.text) \(behind.readableBytes + rest.count)"
            }
        } catch { return "refused: \(error)" }
    }
    return "more"
}
