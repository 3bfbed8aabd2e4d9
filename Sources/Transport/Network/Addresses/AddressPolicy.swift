// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The addresses that a client may connect to when another party chose the URL.
public struct AddressPolicy: Hashable, Sendable {
    /// Only port 443 and addresses of the public internet, so that a request cannot reach into the own network.
    ///
    /// One address that is not permitted is enough to refuse a name. The connection goes to one of the addresses that
    /// were checked, so a second answer of the name server cannot change it.
    public static let globalOnly = AddressPolicy(isRestricted: true)
    /// All addresses and ports, for a host that the user or operator named.
    public static let any = AddressPolicy(isRestricted: false)

    /// True for ``globalOnly``.
    let isRestricted: Bool

    /// Returns true if the policy permits a URL, as far as that can be decided before its host is resolved.
    public func permits(_ url: HTTPSURL) -> Bool { permits(port: url.port) && permits(host: url.host) }

    /// Returns true if the policy permits a connection to a port.
    func permits(port: Int) -> Bool { !isRestricted || port == HTTPSURL.defaultPort }

    /// Returns true if the policy permits a host as a URL names it, before it is resolved.
    ///
    /// Names that are only meaningful within one network are not permitted.
    func permits(host: String) -> Bool {
        guard isRestricted else { return true }
        return IPAddress(host).map(permits) ?? !HostName.isLocal(host)
    }

    /// Returns true if the policy permits a connection to an address.
    ///
    /// Addresses that stand for an IPv4 address are refused, whatever address it is: IPv4-mapped (`::ffff:0:0/96`) and
    /// IPv4-compatible (`::/96`), NAT64 (`64:ff9b::/96`, `64:ff9b:1::/48`), 6to4 (`2002::/16`) and Teredo (`2001::/32`).
    /// A gateway could translate them into an address of the own network. So is the address at which Azure offers
    /// services of the platform to each virtual machine, though it is a public one.
    func permits(_ address: IPAddress) -> Bool {
        guard isRestricted else { return true }
        return address.isGlobal && !address.isTransitional && address != Self.azurePlatform
    }

    private static let azurePlatform = IPAddress("168.63.129.16")
}

extension IPAddress {
    /// True for an IPv6 address that stands for an IPv4 address.
    ///
    /// Within 2000::/3, these are the blocks of 6to4 (RFC 3056) and Teredo (RFC 4380). All others are outside, which has
    /// no other global addresses.
    fileprivate var isTransitional: Bool {
        guard isIPv6 else { return false }
        let isOutsideGlobalUnicast = bytes[0] & 0xE0 != 0x20
        let is6to4 = bytes[0] == 0x20 && bytes[1] == 0x02
        let isTeredo = bytes.starts(with: [0x20, 0x01, 0, 0])
        return isOutsideGlobalUnicast || is6to4 || isTeredo
    }
}
