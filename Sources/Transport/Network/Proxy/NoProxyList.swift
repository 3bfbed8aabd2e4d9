// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The hosts of `NO_PROXY`, to which connections go without a proxy.
///
/// The rules are curl's:
/// - Commas and spaces separate entries.
/// - A name, with or without a leading dot, matches itself and its subdomains.
/// - `*` alone matches every host.
/// - An address matches itself. With `/BITS`, it matches a network.
///
/// As in other programs, an entry with a port matches that port only, and an IPv6 address may have brackets.
struct NoProxyList: Sendable {
    private enum Host {
        case name(String)
        case network(IPAddress, bits: Int)
    }

    private let matchesAll: Bool
    private let entries: [(host: Host, port: Int?)]

    /// Reads the list; malformed entries match no host.
    init(_ text: String) {
        let words = text.split { $0 == "," || $0 == " " || $0 == "\t" }
        matchesAll = words == ["*"]
        entries = words.compactMap(Self.entry)
    }

    /// Returns true if an entry matches `host`, which is a lower-case name or an address without brackets.
    func contains(_ host: String, port: Int) -> Bool {
        if matchesAll { return true }
        let address = IPAddress(host)
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return entries.contains { entry in
            guard entry.port ?? port == port else { return false }
            switch entry.host {
            case .name(let suffix): return address == nil && (name == suffix || name.hasSuffix("." + suffix))
            case .network(let network, let bits): return address?.hasPrefix(network, bits: bits) ?? false
            }
        }
    }

    private static func entry(_ word: Substring) -> (host: Host, port: Int?)? {
        // An IPv6 address without brackets has no port.
        if let network = network(word) { return (network, nil) }
        guard let entry = HostPort(word) else { return nil }
        if let network = network(entry.host[...]) { return (network, entry.port) }
        var name = entry.host.lowercased()[...]
        if name.hasPrefix(".") { name = name.dropFirst() }
        if name.hasSuffix(".") { name = name.dropLast() }
        return HostName.isValid(String(name)) ? (.name(String(name)), entry.port) : nil
    }

    private static func network(_ text: Substring) -> Host? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ IPAddress($0) }) else { return nil }
        let width = address.bytes.count * 8
        guard parts.count == 2 else { return .network(address, bits: width) }
        guard let bits = UInt8(parts[1]), parts[1].first != "+", Int(bits) <= width else { return nil }
        return .network(address, bits: Int(bits))
    }
}
