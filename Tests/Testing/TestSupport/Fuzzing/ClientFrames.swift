// SPDX-License-Identifier: Apache-2.0

/// WebSocket frames from a client.
package enum ClientFrames {
    /// Returns a masked frame with this payload.
    package static func frame(
        _ opcode: UInt8,
        _ payload: [UInt8],
        isFinal: Bool = true,
        key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    ) -> [UInt8] {
        header(opcode, isFinal: isFinal, length: payload.count) + key
            + payload.enumerated().map { $1 ^ key[$0 % 4] }
    }

    /// Returns a frame with a payload of this length, without the cost of masking.
    package static func filled(_ opcode: UInt8, length: Int, from offset: Int, isFinal: Bool, key: [UInt8]) -> [UInt8] {
        header(opcode, isFinal: isFinal, length: length) + key + Array(filling[offset..<(offset + length)])
    }

    /// Maximum length of the payload of ``filled(_:length:from:isFinal:key:)`` in bytes, including its offset.
    package static let mostFilling = 160_000

    private static let filling = (0..<mostFilling).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }

    private static func header(_ opcode: UInt8, isFinal: Bool, length: Int) -> [UInt8] {
        let extra = length <= 125 ? 0 : length <= 0xFFFF ? 2 : 8
        let short = extra == 0 ? UInt8(length) : extra == 2 ? 126 : 127
        return [opcode | (isFinal ? 0x80 : 0), 0x80 | short]
            + (0..<extra).reversed().map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
    }
}
