// SPDX-License-Identifier: Apache-2.0

import FuzzInput
import NIOCore
import RelayCore

/// Frames give the same messages in one piece and in pieces; the first byte says how large they are.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWebSocketFrames(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = fuzzInput(start, count)
    guard let size = input.first.map({ Int($0) + 1 }) else { return 0 }
    let bytes = Array(input.dropFirst())
    bytes.withUnsafeBytes { raw in
        if let header = try? FrameHeader(parsing: raw) {
            invariant(header.length <= FrameHeader.maximumLength && header.payloadLength >= 0, "a header is bounded")
        }
    }
    invariant(outcome(bytes, pieces: size) == outcome(bytes, pieces: bytes.count + 1), "pieces don't matter")
    return 0
}

/// All that comes out: data joined, control frames in their places, the violation at the end.
private func outcome(_ bytes: [UInt8], pieces size: Int) -> [UInt8] {
    var reader = FrameReader(maximumMessage: 4096)
    var output: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        reader.append(ByteBuffer(bytes: rest.prefix(size)))
        rest = rest.dropFirst(size)
        do throws(FrameViolation) {
            while let event = try reader.next() {
                switch event {
                case .data(let frames, let cost):
                    invariant(cost > 0, "nothing is free")
                    output += Array(frames.readableBytesView)
                case .ping(let payload): output += Array("ping".utf8) + payload
                case .pong: output += Array("pong".utf8)
                case .close(let code): output += Array("close \(String(describing: code))".utf8)
                }
            }
        } catch {
            output += Array("violation \(error)".utf8)
            return output
        }
    }
    return output
}
