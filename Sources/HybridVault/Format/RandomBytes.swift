// SPDX-License-Identifier: Apache-2.0

/// Bytes from the system's random source (`getrandom`).
enum RandomBytes {
    /// So many fresh bytes.
    static func make(_ count: Int) -> [UInt8] {
        var source = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &source) }
    }
}
