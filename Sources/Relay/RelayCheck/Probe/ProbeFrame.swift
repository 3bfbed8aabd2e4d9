// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import NIOCore

/// A WebSocket frame (RFC 6455 §5.2), valid or not, as the checks send and read it.
struct ProbeFrame: Hashable, Sendable {
    enum Opcode: UInt8, Sendable {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10
    }

    /// Maximum length of a received payload, in bytes; no check makes a relay send more.
    private static let maximumLength = 2 << 20

    var opcode: Opcode
    var isFinal = true
    var payload: [UInt8]

    /// Returns the bytes of the frame.
    ///
    /// Only the check of unmasked frames omits the mask.
    func bytes(masked: Bool = true) -> [UInt8] {
        var head = [opcode.rawValue | (isFinal ? 0x80 : 0)]
        let maskBit: UInt8 = masked ? 0x80 : 0
        let count = payload.count
        switch count {
        case ...125: head.append(maskBit | UInt8(count))
        case ...0xFFFF: head += [maskBit | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        default: head += [maskBit | 127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
        }
        guard masked else { return head + payload }
        let mask = [UInt8].random(4)
        var body = payload
        body.withUnsafeMutableBufferPointer { body in
            for index in body.indices { body[index] ^= mask[index & 3] }
        }
        return head + mask + body
    }

    /// Takes a frame from the front of the bytes; `nil` if it is incomplete.
    static func take(from bytes: inout ByteBuffer) throws(ProbeError) -> ProbeFrame? {
        var rest = bytes
        guard let first = rest.readInteger(as: UInt8.self), let second = rest.readInteger(as: UInt8.self) else {
            return nil
        }
        guard first & 0x70 == 0 else { throw .malformed("a frame with reserved bits") }
        guard let opcode = Opcode(rawValue: first & 0x0F) else { throw .malformed("a frame with an unknown opcode") }
        guard second & 0x80 == 0 else { throw .malformed("a masked frame, which only clients send") }
        guard opcode.rawValue < 8 || (first & 0x80 != 0 && second <= 125) else {
            throw .malformed("a control frame in fragments, or of more than 125 bytes")
        }
        var length = Int(second)
        switch second {
        case 126:
            guard let long = rest.readInteger(as: UInt16.self) else { return nil }
            length = Int(long)
        case 127:
            guard let long = rest.readInteger(as: UInt64.self) else { return nil }
            guard long <= UInt64(maximumLength) else { throw .malformed("a frame of \(long) bytes") }
            length = Int(long)
        default: break
        }
        guard let payload = rest.readBytes(length: length) else { return nil }
        bytes = rest
        return ProbeFrame(opcode: opcode, isFinal: first & 0x80 != 0, payload: payload)
    }
}

/// An event at one end of a tunnel.
enum ProbeEvent: Hashable, Sendable {
    case message([UInt8])
    case text
    case pong([UInt8])
    case close(UInt16?)

    /// The event in words, for users.
    var name: String {
        switch self {
        case .message(let bytes): "a message of \(bytes.count) bytes"
        case .text: "a text message"
        case .pong: "a pong"
        case .close(let code?): "close code \(code)"
        case .close(nil): "a close without a code"
        }
    }
}

extension ProbeSocket {
    /// Sends a final frame with a mask.
    func send(_ opcode: ProbeFrame.Opcode, _ payload: [UInt8], by deadline: NIODeadline) async throws(ProbeError) {
        try await send(ProbeFrame(opcode: opcode, payload: payload).bytes(), by: deadline)
    }

    /// Waits for the next event; reassembles fragments and answers the relay's pings.
    func nextEvent(by deadline: NIODeadline) async throws(ProbeError) -> ProbeEvent {
        try await nextTimedEvent(by: deadline).event
    }

    /// Waits for the next event; returns `nil` if the deadline passes first.
    func eventIfAny(by deadline: NIODeadline) async throws(ProbeError) -> ProbeEvent? {
        do throws(ProbeError) {
            return try await nextEvent(by: deadline)
        } catch {
            guard error == .timedOut else { throw error }
            return nil
        }
    }

    /// Waits for the next event; also returns the arrival time of its last byte.
    func nextTimedEvent(
        by deadline: NIODeadline
    ) async throws(ProbeError) -> (event: ProbeEvent, arrival: NIODeadline) {
        var message: [UInt8] = []
        var kind: ProbeFrame.Opcode?
        while true {
            // Buffered frames are taken without waiting, so a stream of pings could exceed the deadline.
            guard .now() < deadline else { throw .timedOut }
            let (frame, arrival) = try await nextTimed(by: deadline, ProbeFrame.take(from:))
            switch frame.opcode {
            case .ping: try await send(.pong, frame.payload, by: deadline)
            case .pong: if kind == nil { return (.pong(frame.payload), arrival) }
            case .close:
                guard frame.payload.count >= 2 else { return (.close(nil), arrival) }
                return (.close(UInt16(frame.payload[0]) << 8 | UInt16(frame.payload[1])), arrival)
            case .binary, .text, .continuation:
                guard (frame.opcode == .continuation) == (kind != nil) else { throw .malformed("stray fragments") }
                kind = kind ?? frame.opcode
                message += frame.payload
                if frame.isFinal { return (kind == .text ? .text : .message(message), arrival) }
            }
        }
    }
}
