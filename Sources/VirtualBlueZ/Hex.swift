// SPDX-License-Identifier: Apache-2.0

/// Bytes as text.
enum Hex {
    private static let digits = Array("0123456789abcdef")

    /// Two lower-case digits for each byte.
    static func text(_ bytes: [UInt8]) -> String {
        String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
