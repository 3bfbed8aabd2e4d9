// SPDX-License-Identifier: Apache-2.0

/// WebSocket frames, written and read independently of the relay's code.
enum Wire {
    static let binary: UInt8 = 2
    static let close: UInt8 = 8
    static let ping: UInt8 = 9
    static let pong: UInt8 = 10

    /// Returns a client's frame.
    ///
    /// The parameters can make it invalid.
    static func frame(
        _ payload: [UInt8],
        opcode: UInt8 = binary,
        final: Bool = true,
        reserved: UInt8 = 0,
        mask: [UInt8]? = [0x37, 0xFA, 0x21, 0x3D],
        lengthBytes: Int? = nil
    ) -> [UInt8] {
        var bytes = [opcode | reserved << 4 | (final ? 0x80 : 0)]
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        let extra = lengthBytes ?? (payload.count <= 125 ? 0 : payload.count <= 0xFFFF ? 2 : 8)
        bytes.append(maskBit | (extra == 0 ? UInt8(payload.count) : extra == 2 ? 126 : 127))
        for index in (0..<extra).reversed() { bytes.append(UInt8(truncatingIfNeeded: payload.count >> (8 * index))) }
        guard let mask else { return bytes + payload }
        bytes += mask
        for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index % 4]) }
        return bytes
    }

    static func closeFrame(_ code: UInt16?) -> [UInt8] {
        frame(code.map { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } ?? [], opcode: close)
    }

    /// A frame received from a server.
    struct Received: Equatable {
        let opcode: UInt8
        let final: Bool
        let payload: [UInt8]

        /// Code of a close frame, or `nil`.
        var closeCode: UInt16? {
            guard opcode == Wire.close, payload.count >= 2 else { return nil }
            return UInt16(payload[0]) << 8 | UInt16(payload[1])
        }
    }

    /// Removes a complete frame from the front of `bytes`; `nil` if it is incomplete.
    static func take(from bytes: inout ArraySlice<UInt8>) -> Received? {
        let all = Array(bytes.prefix(10))
        guard all.count >= 2 else { return nil }
        let short = Int(all[1])
        let extra = short == 126 ? 2 : short == 127 ? 8 : 0
        guard all.count >= 2 + extra else { return nil }
        let length = extra == 0 ? short : all[2..<(2 + extra)].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count >= 2 + extra + length else { return nil }
        let payload = Array(bytes.dropFirst(2 + extra).prefix(length))
        bytes = bytes.dropFirst(2 + extra + length)
        return Received(opcode: all[0] & 0x0F, final: all[0] & 0x80 != 0, payload: payload)
    }

    static func takeAll(from bytes: [UInt8]) -> [Received] {
        var rest = bytes[...]
        var frames: [Received] = []
        while let frame = take(from: &rest) { frames.append(frame) }
        return frames
    }
}
