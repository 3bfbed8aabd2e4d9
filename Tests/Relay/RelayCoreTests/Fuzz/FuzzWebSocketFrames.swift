// SPDX-License-Identifier: Apache-2.0

import HybridRelayCore
import TestSupport

/// Checks that frames are read the same in one piece, in pieces of the first byte's size, and by a reference reader.
func fuzzWebSocketFrames(_ input: [UInt8]) throws -> Bool {
    guard let size = input.first.map({ Int($0) + 1 }) else { return false }
    let bytes = Array(input.dropFirst())
    if let header = try? FrameHeader(parsing: bytes.span.bytes) {
        try invariant(header.length <= FrameHeader.maximumLength && header.payloadLength >= 0, "headers are bounded")
    }
    let whole = try FrameOutcome(bytes, pieces: bytes.count + 1)
    try invariant(try FrameOutcome(bytes, pieces: size) == whole, "pieces must not matter")
    let reference = ReferenceFrames(bytes, masked: true, maximumMessage: FrameOutcome.maximumMessage)
    try invariant(whole.frames == reference.relayed, "both readers find the same frames")
    switch reference.end {
    case .open:
        // A violation shows before its header is complete.
        try invariant(
            whole.violation == nil || reference.rest.count < FrameHeader.maximumLength,
            "valid frames are accepted"
        )
    case .closed: try invariant(whole.violation == nil, "nothing after a close frame is read")
    case .broken: try invariant(whole.violation != nil, "invalid frames are rejected")
    }
    return !whole.frames.isEmpty
}

/// All results of a reader: frames for the other end and control frames, in order.
private struct FrameOutcome: Equatable {
    static let maximumMessage = 4096

    private(set) var frames: [ReferenceFrames.Frame] = []
    private(set) var violation: FrameViolation?
    private var isClosed = false

    init(_ bytes: [UInt8], pieces size: Int) throws {
        var reader = FrameReader(maximumMessage: Self.maximumMessage)
        var rest: [UInt8] = []
        for piece in bytes.pieces(of: size) where violation == nil && !isClosed {
            var bytes = [UInt8](repeating: 0, count: FrameReader.headroom) + rest + piece
            var position = FrameReader.headroom
            while !isClosed, let event = try next(&reader, &bytes, &position) { try take(event, from: bytes) }
            rest = Array(bytes[position...])
        }
    }

    /// Returns the next event, which must not change bytes that have not been read.
    private mutating func next(
        _ reader: inout FrameReader,
        _ bytes: inout [UInt8],
        _ position: inout Int
    ) throws -> FrameEvent? {
        let (before, start) = (bytes, position)
        var event: FrameEvent?
        do throws(FrameViolation) {
            var span = bytes.mutableSpan
            var raw = span.mutableBytes
            event = try reader.next(in: &raw, from: &position)
        } catch {
            violation = error
        }
        try invariant(position >= start && position <= before.count, "a reader does not step back")
        try invariant(bytes[position...] == before[position...], "bytes that are not read do not change")
        return event
    }

    private mutating func take(_ event: FrameEvent, from bytes: [UInt8]) throws {
        try invariant(event.cost >= FrameEvent.minimumCost, "every event has a cost")
        switch event {
        case .data(let range, _):
            let written = ReferenceFrames.written(Array(bytes[range]))
            frames += try present(written, "forwarded bytes are complete frames of a server")
        case .ping(let range): frames.append(.init(isFinal: true, opcode: 9, payload: Array(bytes[range])))
        case .pong: frames.append(.init(isFinal: true, opcode: 10, payload: []))
        case .close(let code):
            let payload = code.map { [UInt8($0.rawValue >> 8), UInt8(truncatingIfNeeded: $0.rawValue)] } ?? []
            frames.append(.init(isFinal: true, opcode: 8, payload: payload))
            isClosed = true
        }
    }
}
