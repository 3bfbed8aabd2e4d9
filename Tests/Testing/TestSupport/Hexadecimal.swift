// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal digits, as in the test vectors, implemented independently of the code under test.
package enum Hexadecimal {
    /// Returns the bytes of an even number of digits of either case, or `nil` for any other text.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text {
            guard character.isASCII, let digit = character.hexDigitValue else { return nil }
            if let first = high {
                bytes.append(first << 4 | UInt8(digit))
                high = nil
            } else {
                high = UInt8(digit)
            }
        }
        return bytes
    }

    /// Returns two lowercase digits for each byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
