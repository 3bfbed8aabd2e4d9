// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import NIOCore

/// Frames give the same in one piece and in pieces, whose size the first byte says, and the same as a slow reader.
func fuzzWebSocketFrames(_ input: [UInt8]) throws -> Bool {
    guard let size = input.first.map({ Int($0) + 1 }) else { return false }
    let bytes = Array(input.dropFirst())
    try bytes.withUnsafeBytes { raw in
        if let header = try? FrameHeader(parsing: raw) {
            try invariant(
                header.length <= FrameHeader.maximumLength && header.payloadLength >= 0,
                "headers are bounded"
            )
        }
    }
    let whole = try FrameOutcome(bytes, pieces: bytes.count + 1)
    try invariant(try FrameOutcome(bytes, pieces: size) == whole, "pieces don't matter")
    let reference = ReferenceFrames(bytes, masked: true, maximumMessage: FrameOutcome.maximumMessage)
    try invariant(whole.frames == reference.relayed, "both readers find the same frames")
    switch reference.end {
    case .open:
        // A violation shows before its header is complete.
        try invariant(whole.violation == nil || reference.rest.count < FrameHeader.maximumLength, "nothing is broken")
    case .closed: try invariant(whole.violation == nil, "a close frame ends all")
    case .broken: try invariant(whole.violation != nil, "what is broken is refused")
    }
    return !whole.frames.isEmpty
}

/// All that comes out of a reader: frames as the other end gets them, control frames in their places.
private struct FrameOutcome: Equatable {
    static let maximumMessage = 4096

    private(set) var frames: [ReferenceFrames.Frame] = []
    private(set) var violation: FrameViolation?

    init(_ bytes: [UInt8], pieces size: Int) throws {
        var reader = FrameReader(maximumMessage: Self.maximumMessage)
        var events: [FrameEvent] = []
        for piece in bytes.pieces(of: size) where violation == nil {
            reader.append(ByteBuffer(bytes: piece))
            do throws(FrameViolation) {
                while let event = try reader.next() { events.append(event) }
            } catch {
                violation = error
            }
        }
        for event in events { try take(event) }
    }

    private mutating func take(_ event: FrameEvent) throws {
        try invariant(event.cost >= FrameEvent.minimumCost, "nothing is free")
        switch event {
        case .data(let buffer, _):
            let written = ReferenceFrames.written(Array(buffer.readableBytesView))
            frames += try present(written, "what is passed on are a server's frames, whole")
        case .ping(let payload): frames.append(.init(isFinal: true, opcode: 9, payload: payload))
        case .pong: frames.append(.init(isFinal: true, opcode: 10, payload: []))
        case .close(let code):
            let payload = code.map { [UInt8($0.rawValue >> 8), UInt8(truncatingIfNeeded: $0.rawValue)] } ?? []
            frames.append(.init(isFinal: true, opcode: 8, payload: payload))
        }
    }
}
