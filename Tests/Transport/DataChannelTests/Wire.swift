// SPDX-License-Identifier: Apache-2.0

/// WebSocket frames of a server, independent of the product's code.
enum Wire {
    static let continuation: UInt8 = 0
    static let text: UInt8 = 1
    static let binary: UInt8 = 2
    static let close: UInt8 = 8
    static let ping: UInt8 = 9
    static let pong: UInt8 = 10

    /// Returns a frame, which parameters can make invalid.
    static func frame(
        _ payload: [UInt8],
        opcode: UInt8 = binary,
        final: Bool = true,
        reserved: UInt8 = 0,
        mask: [UInt8]? = nil,
        claimedLength: Int? = nil
    ) -> [UInt8] {
        let length = claimedLength ?? payload.count
        var bytes = [opcode | reserved << 4 | (final ? 0x80 : 0)]
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        let extra = length <= 125 ? 0 : length <= 0xFFFF ? 2 : 8
        bytes.append(maskBit | (extra == 0 ? UInt8(length) : extra == 2 ? 126 : 127))
        for index in (0..<extra).reversed() { bytes.append(UInt8(truncatingIfNeeded: length >> (8 * index))) }
        guard let mask else { return bytes + payload }
        bytes += mask
        for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index % 4]) }
        return bytes
    }

    static func closeFrame(_ code: UInt16?) -> [UInt8] {
        frame(code.map { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } ?? [], opcode: close)
    }

    /// A frame that a client sent.
    struct Received: Equatable {
        let opcode: UInt8
        let final: Bool
        let mask: [UInt8]?
        let payload: [UInt8]

        /// The code of a close frame.
        var closeCode: UInt16? {
            guard opcode == Wire.close, payload.count >= 2 else { return nil }
            return UInt16(payload[0]) << 8 | UInt16(payload[1])
        }
    }

    /// Takes a frame from the front of `bytes`; `nil` if it is incomplete.
    static func take(from bytes: inout [UInt8]) -> Received? {
        guard bytes.count >= 2 else { return nil }
        let short = Int(bytes[1] & 0x7F)
        let extra = short == 126 ? 2 : short == 127 ? 8 : 0
        let maskLength = bytes[1] & 0x80 == 0 ? 0 : 4
        let start = 2 + extra + maskLength
        guard bytes.count >= start else { return nil }
        let length = extra == 0 ? short : bytes[2..<(2 + extra)].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count >= start + length else { return nil }
        let mask = maskLength == 0 ? nil : Array(bytes[(start - 4)..<start])
        var payload = Array(bytes[start..<(start + length)])
        if let mask { for index in payload.indices { payload[index] ^= mask[index % 4] } }
        let received = Received(opcode: bytes[0] & 0x0F, final: bytes[0] & 0x80 != 0, mask: mask, payload: payload)
        bytes.removeFirst(start + length)
        return received
    }
}
