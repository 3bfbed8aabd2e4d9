// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A balancer's PROXY header, written byte by byte and independently of the reader's code.
struct WrittenProxyHeader {
    static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]

    /// An address of 4 or 16 bytes, and a port.
    struct Endpoint: Equatable {
        let address: [UInt8]
        let port: UInt16

        /// The text with all zeros.
        var text: String {
            guard address.count == 16 else { return address.map(String.init).joined(separator: ".") }
            return stride(from: 0, to: 16, by: 2).map { index in
                let group = String(Int(address[index]) << 8 | Int(address[index + 1]), radix: 16)
                return String(repeating: "0", count: 4 - group.count) + group
            }.joined(separator: ":")
        }

        /// Returns the address that another parser reads from the text.
        func socketAddress() throws -> SocketAddress { try SocketAddress(ipAddress: text, port: Int(port)) }

        fileprivate var portBytes: [UInt8] { [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)] }
    }

    /// Returns a line of version 1.
    static func version1(_ source: Endpoint, _ destination: Endpoint, upperCase: Bool = false) -> [UInt8] {
        let family = source.address.count == 4 ? "TCP4" : "TCP6"
        let texts = [source, destination].map { upperCase ? $0.text.uppercased() : $0.text }
        return Array("PROXY \(family) \(texts[0]) \(texts[1]) \(source.port) \(destination.port)\r\n".utf8)
    }

    /// Extension of version 2, after the addresses.
    struct Extension {
        let type: UInt8
        let value: [UInt8]

        fileprivate var bytes: [UInt8] {
            [type, UInt8(value.count >> 8), UInt8(truncatingIfNeeded: value.count)] + value
        }
    }

    /// Returns a header of version 2, optionally with a checksum before the extensions.
    static func version2(
        _ source: Endpoint,
        _ destination: Endpoint,
        extensions: [Extension] = [],
        checksum: Bool = false
    ) -> [UInt8] {
        version2(
            command: 1,
            family: source.address.count == 4 ? 0x11 : 0x21,
            addresses: source.address + destination.address + source.portBytes + destination.portBytes,
            extensions: extensions,
            checksum: checksum
        )
    }

    /// Returns a header of version 2 from any parts.
    static func version2(
        command: UInt8,
        family: UInt8,
        addresses: [UInt8],
        extensions: [Extension] = [],
        checksum: Bool = false
    ) -> [UInt8] {
        let all = (checksum ? [Extension(type: 3, value: [0, 0, 0, 0])] : []) + extensions
        let length = addresses.count + all.reduce(0) { $0 + $1.bytes.count }
        var header = signature + [0x20 | command, family, UInt8(length >> 8), UInt8(truncatingIfNeeded: length)]
        header += addresses
        let place = header.count + 3
        header += all.flatMap(\.bytes)
        guard checksum else { return header }
        let sum = castagnoli(header)
        for index in 0..<4 { header[place + index] = UInt8(truncatingIfNeeded: sum >> (24 - 8 * index)) }
        return header
    }

    /// Computes CRC-32C bit by bit, as a polynomial remainder with the bits of each byte reversed.
    static func castagnoli(_ bytes: [UInt8]) -> UInt32 {
        var remainder: UInt64 = 0xFFFF_FFFF
        for byte in bytes {
            for bit in 0..<8 {
                let next = UInt64(byte >> bit & 1) ^ (remainder >> 31 & 1)
                remainder = (remainder << 1) & 0xFFFF_FFFF
                if next == 1 { remainder ^= 0x1EDC_6F41 }
            }
        }
        var reversed: UInt32 = 0
        for bit in 0..<32 where remainder >> bit & 1 == 1 { reversed |= 1 << (31 - bit) }
        return ~reversed
    }
}
