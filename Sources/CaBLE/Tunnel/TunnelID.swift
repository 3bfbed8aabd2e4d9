// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// The ID of a tunnel: 16 bytes that both ends derive from the QR secret.
///
/// The ID allows joining the tunnel, so it never appears in logs or errors.
///
/// Source: CTAP 2.2 §11.5.1 (hybrid transports), key purpose 2.
public struct TunnelID: RandomlyChosenBytes, Hashable, Sendable, SecretMaterial {
    /// Length in bytes.
    public static let length = 16

    /// The bytes as two big-endian numbers, which can be compared, copied and hashed without an array.
    private let words: SIMD2<UInt64>

    /// The 16 bytes.
    public var bytes: [UInt8] {
        (0..<Self.length).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> (56 - UInt64($0 % 8) * 8)) }
    }

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) {
        var words = SIMD2<UInt64>()
        for (index, byte) in bytes.enumerated() { words[index / 8] = words[index / 8] << 8 | UInt64(byte) }
        self.words = words
    }

    /// Creates an ID from 32 hexadecimal digits; `nil` for any other text.
    ///
    /// Both cases are accepted, because Chrome writes upper case and other clients write lower case.
    public init?(hex: some StringProtocol) {
        self.init(hexDigits: Array(hex.utf8)[...])
    }

    /// Creates an ID from 32 ASCII hexadecimal digits in either case; `nil` for any other text.
    public init?(hexDigits digits: ArraySlice<UInt8>) {
        let half = digits.startIndex + Self.length
        guard digits.count == 2 * Self.length, let high = Hex.number(digits[..<half]),
            let low = Hex.number(digits[half...])
        else { return nil }
        words = SIMD2(high, low)
    }

    /// The ID as 32 lower-case hexadecimal digits, as used in the path of a tunnel.
    public var hex: String { Hex.encode(bytes) }
}
