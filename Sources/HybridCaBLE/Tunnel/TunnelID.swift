// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// Name of a tunnel: 16 bytes derived from the QR secret, known to both ends before the relay is asked.
///
/// It is the capability to join the tunnel, so it never appears in a log or in an error text.
/// Source: CTAP 2.2 §11.5.1 (hybrid transports), key purpose 2.
public struct TunnelID: Hashable, Sendable {
    /// Length in bytes.
    public static let length = 16

    /// The bytes as two numbers: compared, copied and looked up without an array.
    private let words: SIMD2<UInt64>

    /// The 16 bytes.
    public var bytes: [UInt8] {
        (0..<Self.length).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> (56 - UInt64($0 % 8) * 8)) }
    }

    init(derived bytes: [UInt8]) { self.init(checked: bytes) }

    /// Takes bytes whose number is known to be right.
    private init(checked bytes: some Collection<UInt8>) {
        var words = SIMD2<UInt64>()
        for (index, byte) in bytes.enumerated() { words[index / 8] = words[index / 8] << 8 | UInt64(byte) }
        self.words = words
    }

    /// Takes exactly 16 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        self.init(checked: bytes)
    }

    /// Reads 32 hexadecimal digits of either case: Chrome writes upper case, others lower case.
    public init?(hex: some StringProtocol) {
        guard let bytes = Hex.decode(hex.utf8, length: Self.length) else { return nil }
        self.init(checked: bytes)
    }

    /// Reads 32 hexadecimal digits of either case, as bytes of ASCII.
    public init?(hexDigits digits: ArraySlice<UInt8>) {
        let half = digits.startIndex + Self.length
        guard digits.count == 2 * Self.length, let high = Hex.number(digits[..<half]),
            let low = Hex.number(digits[half...])
        else { return nil }
        words = SIMD2(high, low)
    }

    /// 32 lower-case hexadecimal digits, as they stand in a tunnel URL.
    public var hex: String { Hex.encode(bytes) }
}

extension TunnelID: SecretMaterial {}
