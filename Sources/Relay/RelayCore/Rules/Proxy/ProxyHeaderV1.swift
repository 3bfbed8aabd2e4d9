// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import NIOCore

/// Version 1, a line of text: `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443` (§2.1).
enum ProxyHeaderV1 {
    /// Maximum length of the line including CR and LF, in bytes.
    static let maximumLength = 107

    private static let start = Array("PROXY ".utf8)

    /// Returns the header at the start of the bytes and its length; `nil` while it is incomplete.
    static func read(_ bytes: ArraySlice<UInt8>) throws(ProxyViolation) -> (ProxyHeader, length: Int)? {
        guard bytes.prefix(start.count).elementsEqual(start.prefix(bytes.count)) else { throw .noHeader }
        let window = bytes.prefix(maximumLength)
        guard let end = window.firstIndex(where: { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }),
            end + 1 < window.endIndex || window[end] == UInt8(ascii: "\n")
        else {
            guard window.count < maximumLength else { throw .lineTooLong }
            return nil
        }
        guard window[end...].prefix(2).equals("\r\n") else { throw .malformedLine }
        return (try parse(window[..<end]), window[...end].count + 1)
    }

    private static func parse(_ line: ArraySlice<UInt8>) throws(ProxyViolation) -> ProxyHeader {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        // The rest of the line after UNKNOWN must be ignored.
        if words.count >= 2, words[1].equals("UNKNOWN") { return .unknown }
        guard words.count == 6 else { throw .malformedLine }
        let isIPv6 = words[1].equals("TCP6")
        guard isIPv6 || words[1].equals("TCP4"), let source = IPAddress(words[2]), source.isIPv6 == isIPv6,
            IPAddress(words[3])?.isIPv6 == isIPv6, let port = Int(digits: words[4], maximum: 65_535),
            Int(digits: words[5], maximum: 65_535) != nil,
            let address = SocketAddress(packed: source.bytes, port: port)
        else { throw .malformedLine }
        return .relayed(address)
    }
}
