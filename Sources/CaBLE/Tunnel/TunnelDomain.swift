// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The relay of an authenticator, identified by a 16-bit number that fits into an advert.
///
/// Numbers below 256 are assigned to vendors (0 is Google, 1 is Apple). A hash maps each higher number to a host name,
/// which any operator can register to run a relay.
///
/// Source: CTAP 2.2 §11.5.1. Chromium, webauthn-rs and libwebauthn compute the same host names.
public struct TunnelDomain: Hashable, Sendable {
    /// Hosts of the assigned numbers, indexed by number.
    static let assignedHosts = ["cable.ua5v.com", "cable.auth.com"]

    /// The first number whose host name is derived by a hash.
    public static let firstHashed: UInt16 = 256

    /// Number in the advert.
    public let id: UInt16

    /// Host name of the relay, whose URL is `wss://host` with port 443.
    public let host: String

    /// Creates a tunnel domain from its number; `nil` for 2 to 255, which are not assigned.
    public init?(id: UInt16) {
        guard let host = Self.host(of: id) else { return nil }
        self.id = id
        self.host = host
    }

    /// Creates a tunnel domain from its host name; `nil` if no number maps to it.
    ///
    /// Tries up to 65,536 numbers, which takes about 50 ms.
    public init?(host: some StringProtocol) {
        let wanted = host.lowercased()
        guard let id = (0...UInt16.max).first(where: { Self.host(of: $0) == wanted }) else { return nil }
        self.id = id
        self.host = wanted
    }

    /// True if the number is assigned to a vendor.
    public var isAssigned: Bool { id < Self.firstHashed }

    /// Creates a tunnel domain from a number or host name on a command line or in a configuration file.
    public init?(argument: String) {
        if let id = UInt16(argument) {
            self.init(id: id)
        } else {
            self.init(host: argument)
        }
    }

    private static func host(of id: UInt16) -> String? {
        guard id >= firstHashed else { return assignedHosts.dropFirst(Int(id)).first }
        var input = Array("caBLEv2 tunnel server domain".utf8)
        input += id.littleEndianBytes + [0]
        var value = SHA256.hash(data: input).prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let topLevel = ["com", "org", "net", "info"][Int(value & 3)]
        value >>= 2
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        var label: [UInt8] = []
        while value != 0 {
            label.append(alphabet[Int(value & 31)])
            value >>= 5
        }
        return "cable.\(String(decoding: label, as: UTF8.self)).\(topLevel)"
    }
}
