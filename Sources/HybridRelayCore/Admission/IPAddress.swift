// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import NIOCore

/// An IP address as a number.
///
/// An IPv4 address in IPv6 form (`::ffff:192.0.2.1`), as sockets show it that listen for both, is the IPv4 address.
enum IPAddress: Hashable, Sendable {
    case v4(UInt32)
    case v6(UInt128)

    /// The address of a socket; `nil` for a unix socket.
    init?(_ address: SocketAddress) {
        // By way of the text: whose the fields of the C structures are differs from file to file.
        let notation: IPNotation
        switch address {
        case .v4: notation = .v4
        case .v6: notation = .v6
        case .unixDomainSocket: return nil
        }
        guard let text = address.ipAddress, let packed = notation.packed(text.utf8) else { return nil }
        self.init(packed: packed)
    }

    /// The 4 or 16 bytes of an address in network order; `nil` for another number of bytes.
    init?(packed bytes: [UInt8]) {
        switch bytes.count {
        case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16: self.init(v6: bytes.reduce(0) { $0 << 8 | UInt128($1) })
        default: return nil
        }
    }

    private init(v6 number: UInt128) {
        self = number >> 32 == 0xFFFF ? .v4(UInt32(truncatingIfNeeded: number)) : .v6(number)
    }

    /// The canonical text.
    var text: String {
        switch self {
        case .v4(let number): Self.text(number.bigEndian, AF_INET)
        case .v6(let number): Self.text(number.bigEndian, AF_INET6)
        }
    }

    private static func text(_ number: some FixedWidthInteger, _ family: CInt) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let length = withUnsafeBytes(of: number) { bytes in
            inet_ntop(family, bytes.baseAddress, &text, socklen_t(text.count)) == nil ? 0 : strlen(text)
        }
        return String(decoding: text[..<length].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// How an IP address is written.
enum IPNotation {
    case v4
    case v6

    /// Longest text of an address: an IPv6 address that ends in an IPv4 address.
    private static let maximumLength = 45

    /// The 4 or 16 bytes that a text stands for, in network order.
    ///
    /// Four decimal numbers without leading zeros, or the forms of RFC 4291 §2.2; no zones, no brackets, no short forms
    /// of IPv4 addresses.
    func packed(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard !text.isEmpty, text.count <= Self.maximumLength, text.allSatisfy(\.isInAddresses) else { return nil }
        var bytes = [UInt8](repeating: 0, count: self == .v4 ? 4 : 16)
        let terminated = text.map { CChar(bitPattern: $0) } + [0]
        return inet_pton(self == .v4 ? AF_INET : AF_INET6, terminated, &bytes) == 1 ? bytes : nil
    }
}

extension UInt8 {
    /// A hexadecimal digit, a dot or a colon.
    fileprivate var isInAddresses: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
