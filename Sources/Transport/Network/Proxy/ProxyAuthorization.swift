// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// The value of the header field `Proxy-Authorization` (RFC 7617): user name and password for a proxy.
///
/// The value is wiped on release and never printed.
struct ProxyAuthorization: Sendable, SecretMaterial {
    private let value: SymmetricKey

    /// Creates a value from percent-encoded `USER[:PASSWORD]` of at most 1024 bytes; `nil` if the text is malformed.
    init?(userInfo: Substring) {
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        // This capacity is always enough, so no reallocation leaves a copy behind.
        bytes.reserveCapacity(userInfo.utf8.count + 1)
        defer { SecretBytes.wipe(&bytes) }
        for index in 0..<2 {
            if index == 1 { bytes.append(UInt8(ascii: ":")) }
            guard index < parts.count else { break }
            guard var decoded = Self.percentDecoded(parts[index]) else { return nil }
            defer { SecretBytes.wipe(&decoded) }
            // A colon in the user name would be read as the separator (RFC 7617 §2).
            guard index == 1 || !decoded.contains(UInt8(ascii: ":")) else { return nil }
            bytes += decoded
        }
        guard bytes.count <= 1024, bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        var encoded = Base64.encode(bytes)
        defer { SecretBytes.wipe(&encoded) }
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
            // The digits are read one by one, so that no copy is left behind.
            guard let high = rest.first.flatMap(Hex.value), let low = rest.dropFirst().first.flatMap(Hex.value) else {
                return nil
            }
            bytes.append(high << 4 | low)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    private static let field: StaticString = "Proxy-Authorization: Basic "

    /// Length of the header field and its line end, in bytes.
    var fieldLength: Int { Self.field.utf8CodeUnitCount + value.bitCount / 8 + 2 }

    /// Appends the header field and its line end to a request.
    func appendField(to request: SecretRequest) {
        request.append(Self.field)
        value.withUnsafeBytes { request.append($0) }
        request.append("\r\n")
    }
}
