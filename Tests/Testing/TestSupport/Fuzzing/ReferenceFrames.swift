// SPDX-License-Identifier: Apache-2.0

/// A simple reference parser of WebSocket frames for comparison with the optimized one.
package struct ReferenceFrames: Equatable {
    /// A complete frame, unmasked.
    package struct Frame: Equatable {
        package let isFinal: Bool
        package let opcode: UInt8
        package let payload: [UInt8]

        package init(isFinal: Bool, opcode: UInt8, payload: [UInt8]) {
            self.isFinal = isFinal
            self.opcode = opcode
            self.payload = payload
        }

        package var isControl: Bool { opcode >= 8 }
    }

    /// The reason why parsing ended.
    package enum End: Equatable {
        /// The input ended, possibly inside a frame.
        case open
        /// A close frame; later bytes are ignored.
        case closed
        /// A violation of RFC 6455 or of the rules for tunnels.
        case broken
    }

    package private(set) var frames: [Frame] = []
    package private(set) var end = End.open
    /// Bytes after the last complete frame; empty unless the input ended inside a frame.
    package private(set) var rest: [UInt8] = []

    /// Parses frames of a client (`masked`) or a server; lengths must have their shortest form unless any is accepted.
    package init(_ bytes: [UInt8], masked: Bool, anyLength: Bool = false, maximumMessage: Int = .max) {
        var position = 0
        var inside: Int?
        while end == .open {
            guard let (header, payloadLength) = Self.header(bytes[position...], masked: masked) else { break }
            let first = bytes[position]
            let (isFinal, opcode) = (first & 0x80 != 0, first & 0x0F)
            guard Self.isAllowed(bytes[position..<(position + header)], masked: masked, anyLength: anyLength) else {
                end = .broken
                return
            }
            if opcode < 8 {
                let before = opcode == 0 ? inside : 0
                guard let before, opcode == 0 || inside == nil, payloadLength <= maximumMessage - before else {
                    end = .broken
                    return
                }
                inside = isFinal ? nil : before + payloadLength
            }
            guard payloadLength <= bytes.count - position - header else { break }
            let start = position + header
            var payload = Array(bytes[start..<(start + payloadLength)])
            if masked {
                let key = Array(bytes[(start - 4)..<start])
                for index in payload.indices { payload[index] ^= key[index % 4] }
            }
            if opcode == 8 {
                let isReason = !masked || Self.isUTF8(payload.dropFirst(2))
                end = payload.isEmpty || Self.isCloseCode(payload) && isReason ? .closed : .broken
                if end == .broken { return }
            }
            frames.append(Frame(isFinal: isFinal, opcode: opcode, payload: payload))
            position = start + payloadLength
        }
        rest = end == .open ? Array(bytes[position...]) : []
    }

    /// Frames with control payloads truncated to the part that the relay inspects.
    package var relayed: [Frame] {
        frames.map { frame in
            switch frame.opcode {
            case 8: Frame(isFinal: true, opcode: 8, payload: Array(frame.payload.prefix(2)))
            case 10: Frame(isFinal: true, opcode: 10, payload: [])
            default: frame
            }
        }
    }

    /// Complete messages, without control frames.
    package var messages: [[UInt8]] {
        var messages: [[UInt8]] = []
        var message: [UInt8] = []
        for frame in frames where !frame.isControl {
            message += frame.payload
            if frame.isFinal {
                messages.append(message)
                message = []
            }
        }
        return messages
    }

    /// Parses complete frames of a server; `nil` for anything else.
    ///
    /// The frames need not form complete messages.
    package static func written(_ bytes: [UInt8]) -> [Frame]? {
        var frames: [Frame] = []
        var position = 0
        while position < bytes.count {
            guard let (header, length) = header(bytes[position...], masked: false) else { return nil }
            let start = position + header
            guard isAllowed(bytes[position..<start], masked: false, anyLength: false), length <= bytes.count - start
            else {
                return nil
            }
            let payload = Array(bytes[start..<(start + length)])
            frames.append(
                Frame(isFinal: bytes[position] & 0x80 != 0, opcode: bytes[position] & 0x0F, payload: payload)
            )
            position = start + length
        }
        return frames
    }

    /// Lengths of header and payload, if the header is complete.
    private static func header(_ bytes: ArraySlice<UInt8>, masked: Bool) -> (header: Int, payload: Int)? {
        let bytes = Array(bytes.prefix(14))
        guard bytes.count >= 2 else { return nil }
        let short = Int(bytes[1] & 0x7F)
        let extra = short == 126 ? 2 : short == 127 ? 8 : 0
        let length = 2 + extra + (masked ? 4 : 0)
        guard bytes.count >= length else { return nil }
        guard extra > 0 else { return (length, short) }
        let payload = bytes[2..<(2 + extra)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (length, Int(clamping: payload))
    }

    private static func isAllowed(_ header: ArraySlice<UInt8>, masked: Bool, anyLength: Bool) -> Bool {
        let header = Array(header)
        let (isFinal, reserved, opcode) = (header[0] & 0x80 != 0, header[0] & 0x70, header[0] & 0x0F)
        guard reserved == 0, [0, 2, 8, 9, 10].contains(opcode), (header[1] & 0x80 != 0) == masked else { return false }
        let short = header[1] & 0x7F
        if opcode >= 8 { return isFinal && short <= 125 }
        switch short {
        case 126: return anyLength || header[2] != 0 || header[3] >= 126
        case 127: return header[2] < 0x80 && (anyLength || header[2..<8].contains { $0 != 0 })
        default: return true
        }
    }

    /// Returns true if the text is valid UTF-8.
    private static func isUTF8(_ text: ArraySlice<UInt8>) -> Bool {
        String(decoding: text, as: UTF8.self).utf8.elementsEqual(text)
    }

    /// Returns true if a close frame's payload begins with a valid code (RFC 6455 §7.4 and IANA's registry).
    private static func isCloseCode(_ payload: [UInt8]) -> Bool {
        guard payload.count >= 2 else { return false }
        let code = Int(payload[0]) << 8 | Int(payload[1])
        return (1000...1014).contains(code) && ![1004, 1005, 1006].contains(code) || (3000...4999).contains(code)
    }
}
