// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The relay a phone uses, as the 16-bit number that fits into an advert.
///
/// Numbers below 256 are assigned to vendors (0 Google, 1 Apple); every number from 256 on names a host by
/// a hash, so that anybody can run a relay: register the host name of a number and tell phones the number.
/// Source: CTAP 2.2 §11.5.1; Chromium, webauthn-rs and libwebauthn agree on every byte.
public struct TunnelDomain: Hashable, Sendable {
    /// The hosts of the assigned numbers, by number.
    static let assignedHosts = ["cable.ua5v.com", "cable.auth.com"]

    /// The first number whose host is a hash.
    public static let firstHashed: UInt16 = 256

    /// The number in the advert.
    public let id: UInt16

    /// The host, always reached as `wss://host` on port 443.
    public let host: String

    /// The relay of a number; `nil` for 2…255, which are not assigned.
    public init?(id: UInt16) {
        guard let host = Self.host(of: id) else { return nil }
        self.id = id
        self.host = host
    }

    /// The relay of a host name, found by trying every number (a search of 65,536 hashes, some 50 ms).
    ///
    /// Returns `nil` when no number names that host.
    public init?(host: some StringProtocol) {
        let wanted = host.lowercased()
        for id in 0...UInt16.max where Self.host(of: id) == wanted {
            self.id = id
            self.host = wanted
            return
        }
        return nil
    }

    /// Whether the number is a vendor's.
    public var isAssigned: Bool { id < Self.firstHashed }

    /// Reads what a person types: a number or a host name.
    public init?(argument: String) {
        if let id = UInt16(argument) {
            self.init(id: id)
        } else {
            self.init(host: argument)
        }
    }

    private static func host(of id: UInt16) -> String? {
        if id < firstHashed {
            return Int(id) < assignedHosts.count ? assignedHosts[Int(id)] : nil
        }
        var input = Array("caBLEv2 tunnel server domain".utf8)
        input += [UInt8(truncatingIfNeeded: id), UInt8(id >> 8), 0]
        var value: UInt64 = 0
        for (index, byte) in SHA256.hash(data: input).prefix(8).enumerated() {
            value |= UInt64(byte) << UInt64(8 * index)
        }
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
