// SPDX-License-Identifier: Apache-2.0

internal import CaBLE
internal import Crypto

/// User and password for a proxy, as `Proxy-Authorization` says them (RFC 7617).
///
/// Wiped on release and never printed.
struct ProxyAuthorization: Sendable, SecretMaterial, Equatable {
    private let value: SymmetricKey

    /// Reads `USER[:PASSWORD]`, percent-encoded, 1024 bytes at most; `nil` if it has another form.
    init?(userInfo: Substring) {
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        // Never longer than its percent-encoded text and a colon, so that nothing is moved and left behind.
        bytes.reserveCapacity(userInfo.utf8.count + 1)
        defer { bytes.withUnsafeMutableBytes { SecretBytes.wipe($0) } }
        for index in 0..<2 {
            if index == 1 { bytes.append(UInt8(ascii: ":")) }
            guard index < parts.count else { break }
            guard var decoded = Self.percentDecoded(parts[index]) else { return nil }
            defer { decoded.withUnsafeMutableBytes { SecretBytes.wipe($0) } }
            // A colon in the user's name would move the border to the password (RFC 7617 §2).
            guard index == 1 || !decoded.contains(UInt8(ascii: ":")) else { return nil }
            bytes += decoded
        }
        guard bytes.count <= 1024, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        var encoded = Base64.encoded(bytes)
        defer { encoded.withUnsafeMutableBytes { SecretBytes.wipe($0) } }
        value = SymmetricKey(data: encoded)
    }

    private static func percentDecoded(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy(isHexadecimal),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static let field: StaticString = "Proxy-Authorization: Basic "

    /// Length of the field with the end of its line, in bytes.
    var fieldLength: Int { Self.field.utf8CodeUnitCount + value.bitCount / 8 + 2 }

    /// Writes the field and the end of its line at the end of a request.
    func appendField(to request: SecretRequest) {
        request.append(Self.field)
        value.withUnsafeBytes { request.append($0) }
        request.append("\r\n")
    }

    /// Whether two are the same, in constant time.
    static func == (left: Self, right: Self) -> Bool { left.value == right.value }
}

/// RFC 4648 §4.
private enum Base64 {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let word = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0..<4 {
                text.append(place <= group.count ? digits[word >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return text
    }
}
