// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The relay of an authenticator, identified by a 16-bit number that fits into an advert.
///
/// Numbers below 256 are assigned to vendors (0 Google, 1 Apple). Each number from 256 on maps to a host name by a
/// hash. Any operator can register such a host name and run a relay there.
/// Source: CTAP 2.2 §11.5.1; Chromium, webauthn-rs and libwebauthn agree on every byte.
public struct TunnelDomain: Hashable, Sendable {
    /// Hosts of the assigned numbers, by number.
    static let assignedHosts = ["cable.ua5v.com", "cable.auth.com"]

    /// The first number whose host name is a hash.
    public static let firstHashed: UInt16 = 256

    /// Number in the advert.
    public let id: UInt16

    /// Host name of the relay, whose URL is `wss://host` with port 443.
    public let host: String

    /// Creates a tunnel domain from its number; `nil` for 2…255, which are not assigned.
    public init?(id: UInt16) {
        guard let host = Self.host(of: id) else { return nil }
        self.id = id
        self.host = host
    }

    /// Creates a tunnel domain from its host name; `nil` if no number maps to it.
    ///
    /// Tries all numbers, which takes 65,536 hashes or about 50 ms.
    public init?(host: some StringProtocol) {
        let wanted = host.lowercased()
        guard let id = (0...UInt16.max).first(where: { Self.host(of: $0) == wanted }) else { return nil }
        self.id = id
        self.host = wanted
    }

    /// True if the number is assigned to a vendor.
    public var isAssigned: Bool { id < Self.firstHashed }

    /// Reads a number or a host name from a command line or configuration.
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
