// SPDX-License-Identifier: Apache-2.0

/// Lower-case hexadecimal, as it stands in file names and `vault.json`.
enum Hex {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Two lower-case digits for each byte.
    static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The bytes of exactly `2 * count` lower-case digits; anything else is `nil`.
    static func bytes(_ text: some StringProtocol, count: Int) -> [UInt8]? {
        let values = text.utf8.map { digit in digits.firstIndex(of: digit) }
        guard values.count == 2 * count else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: values.count, by: 2) {
            guard let high = values[index], let low = values[index + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }
}
