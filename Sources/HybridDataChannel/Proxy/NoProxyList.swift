// SPDX-License-Identifier: Apache-2.0

/// The hosts of `NO_PROXY`, to which connections go without a proxy.
///
/// curl's rules: entries stand between commas and spaces; a name means itself and all below it, with or without a dot in
/// front; `*` alone means every host; an address means itself, with `/BITS` a network. Beyond curl, as other programs
/// have it, an entry with a port means that port only, and an IPv6 address may stand in brackets.
struct NoProxyList: Sendable {
    private enum Host {
        case name(String)
        case network(NetworkAddress, bits: Int)
    }

    private let meansAll: Bool
    private let entries: [(host: Host, port: Int?)]

    /// Reads the list; entries that can't be read mean no host.
    init(_ text: String) {
        let words = text.split { $0 == "," || $0 == " " || $0 == "\t" }
        meansAll = words == ["*"]
        entries = words.compactMap(Self.entry)
    }

    /// Whether a host, a name in lower case or an address without brackets, is on the list.
    func contains(_ host: String, port: Int) -> Bool {
        if meansAll { return true }
        let address = NetworkAddress(host)
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return entries.contains { entry in
            guard entry.port ?? port == port else { return false }
            switch entry.host {
            case .name(let suffix): return address == nil && (name == suffix || name.hasSuffix("." + suffix))
            case .network(let network, let bits): return address?.begins(with: network, bits: bits) ?? false
            }
        }
    }

    private static func entry(_ word: Substring) -> (host: Host, port: Int?)? {
        // An IPv6 address without brackets has no port.
        if let network = network(word) { return (network, nil) }
        guard let (host, port) = HostAndPort.split(word) else { return nil }
        if let network = network(host[...]) { return (network, port) }
        var name = host.lowercased()[...]
        if name.hasPrefix(".") { name = name.dropFirst() }
        if name.hasSuffix(".") { name = name.dropLast() }
        return HostName.isValid(String(name)) ? (.name(String(name)), port) : nil
    }

    private static func network(_ text: Substring) -> Host? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ NetworkAddress(String($0)) }) else { return nil }
        let most = address.bytes.count * 8
        guard parts.count == 2 else { return .network(address, bits: most) }
        guard let bits = UInt8(parts[1]), parts[1].first != "+", Int(bits) <= most else { return nil }
        return .network(address, bits: Int(bits))
    }
}
