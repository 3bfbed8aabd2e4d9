// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// 128 random bits that open the page: the token of its first address, or the cookie.
///
/// Compared in constant time, wiped on release, and never printed by accident.
struct PageKey: Equatable, Sendable {
    static let byteCount = 16

    private let key: SymmetricKey

    /// A new one, by the system's random source.
    init() { key = SymmetricKey(size: .bits128) }

    /// 32 hexadecimal digits in lower case; `nil` for anything else.
    init?(hexadecimal text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count == 2 * Self.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        key = SymmetricKey(data: bytes)
    }

    /// 32 digits, which are as secret as the key.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef")
        return key.withUnsafeBytes { bytes in
            bytes.reduce(into: "") { $0 += "\(digits[Int($1 >> 4)])\(digits[Int($1 & 15)])" }
        }
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// Where a browser finds the page: `http://127.0.0.1:PORT/open/TOKEN`.
///
/// As secret as the token, and printed on purpose only.
public struct PageAddress: Sendable {
    let origin: String
    let token: PageKey

    /// The address, for a browser or, where there is none, for the person; the copy is not wiped.
    public var text: String { origin + PageAnswers.tokenPath + token.hexadecimal }
}

extension PageAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    public var description: String { "PageAddress(hidden)" }
    /// The type's name only.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension PageKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name only.
    var description: String { "PageKey(hidden)" }
    /// The type's name only.
    var debugDescription: String { description }
    /// A mirror without children.
    var customMirror: Mirror { Mirror(self, children: []) }
}
