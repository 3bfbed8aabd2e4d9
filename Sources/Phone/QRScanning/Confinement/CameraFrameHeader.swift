// SPDX-License-Identifier: Apache-2.0

/// The bytes before each frame on its way to the ``PictureProcess``: format ‖ width ‖ height ‖ number of bytes, each with 4
/// bytes (big-endian).
struct CameraFrameHeader: Hashable {
    /// Length in bytes.
    static let length = 16

    /// The four characters of the pixel format (Video4Linux), the first in the lowest byte.
    let format: UInt32
    /// Width in pixels.
    let width: Int
    /// Height in pixels.
    let height: Int
    /// Number of bytes.
    let count: Int

    var bytes: [UInt8] { Self.bigEndian([Int(format), width, height, count]) }

    /// Returns the lowest 4 bytes of each number.
    static func bigEndian(_ numbers: [Int]) -> [UInt8] {
        numbers.flatMap { number in stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
        }
    }
}

extension CameraFrameHeader {
    /// Creates a header from its bytes; `nil` if their number is wrong.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        let words = stride(from: 0, to: bytes.count, by: 4).map { start in
            bytes[start..<start + 4].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        }
        (format, width, height, count) = (words[0], Int(words[1]), Int(words[2]), Int(words[3]))
    }
}
