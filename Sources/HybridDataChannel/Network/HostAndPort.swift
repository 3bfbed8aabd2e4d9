// SPDX-License-Identifier: Apache-2.0

/// `HOST[:PORT]`, with an IPv6 address in brackets.
enum HostAndPort {
    /// Puts both together.
    static func text(_ host: String, _ port: Int) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Takes both apart; `nil` if it has another form, or the port is not 1 to 65535.
    static func split(_ text: Substring) -> (host: String, port: Int?)? {
        var rest = text
        let host: Substring
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = rest[rest.index(after: rest.startIndex)..<end]
            guard NetworkAddress(String(host))?.bytes.count == 16 else { return nil }
            rest = rest[rest.index(after: end)...]
        } else {
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            host = rest[..<end]
            rest = rest[end...]
        }
        guard !host.isEmpty else { return nil }
        guard !rest.isEmpty else { return (String(host), nil) }
        // `UInt16` would take a sign, too.
        guard rest.removeFirst() == ":", rest.first != "+", let port = UInt16(rest), port > 0 else { return nil }
        return (String(host), Int(port))
    }
}
