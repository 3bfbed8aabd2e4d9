// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import HybridRelayCore

/// A frame reader with the buffer of a connection, and the results of all pieces that it received.
struct ReadFrames: Equatable {
    private(set) var data: [UInt8] = []
    private(set) var pings: [[UInt8]] = []
    private(set) var pongs = 0
    private(set) var cost = 0
    private(set) var closes: [UInt16?] = []
    private(set) var violation: FrameViolation?
    /// Bytes of an incomplete frame.
    private(set) var rest: [UInt8] = []

    /// Reads pieces of input until a close frame or a violation.
    ///
    /// - Parameter room: Number of bytes before the input in the buffer, at least the reader's headroom.
    init(_ pieces: [[UInt8]], maximum: Int = 1 << 20, room: Int = FrameReader.headroom) {
        var reader = FrameReader(maximumMessage: maximum)
        for piece in pieces where closes.isEmpty && violation == nil {
            var bytes = [UInt8](repeating: 0xEE, count: room) + rest + piece
            var position = room
            do throws(FrameViolation) {
                while closes.isEmpty, let event = try Self.next(&reader, &bytes, &position) { take(event, from: bytes) }
            } catch {
                violation = error
            }
            rest = Array(bytes[position...])
        }
        if !closes.isEmpty || violation != nil { rest = [] }
    }

    /// Returns the next event, after checking that it changed only bytes that have been read.
    static func next(
        _ reader: inout FrameReader,
        _ bytes: inout [UInt8],
        _ position: inout Int
    ) throws(FrameViolation) -> FrameEvent? {
        let before = (bytes: bytes, position: position)
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        let event = try reader.next(in: &raw, from: &position)
        #expect(position >= before.position && position <= bytes.count)
        #expect(bytes[position...] == before.bytes[position...], "bytes that are not read do not change")
        switch event {
        case .data(let range, _), .ping(let range): #expect(range.upperBound <= position)
        case .pong, .close, nil: break
        }
        return event
    }

    private mutating func take(_ event: FrameEvent, from bytes: [UInt8]) {
        cost += event.cost
        switch event {
        case .data(let range, _): data += bytes[range]
        case .ping(let range): pings.append(Array(bytes[range]))
        case .pong: pongs += 1
        case .close(let code): closes.append(code?.rawValue)
        }
    }

    /// True if both read the same; the numbers of incomplete bytes may differ, since a large frame is read in parts.
    static func == (left: ReadFrames, right: ReadFrames) -> Bool {
        left.data == right.data && left.pings == right.pings && left.pongs == right.pongs && left.cost == right.cost
            && left.closes == right.closes && left.violation == right.violation
    }
}
