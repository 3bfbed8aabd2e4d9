// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Version 2, binary: signature, version and command, family and transport, length, addresses, extensions (§2.2).
enum ProxyHeaderV2 {
    /// Length of the part before the addresses, in bytes.
    private static let fixedLength = 16

    /// The first bytes, with which no other protocol begins.
    static let signature = Array("\r\n\r\n\0\r\nQUIT\n".utf8)

    /// The address families, with the length of one address in bytes.
    private enum Family: Int {
        case unspecified = 0
        case v4 = 4
        case v6 = 16
        case unix = 108

        private var hasPorts: Bool { self == .v4 || self == .v6 }

        /// Length of source, destination and their ports, in bytes.
        var addressLength: Int { 2 * rawValue + (hasPorts ? 2 * 2 : 0) }
    }

    /// Returns the header at the start of the bytes and its length; `nil` while it is incomplete.
    ///
    /// Every rule is checked as soon as its byte has arrived, in the order of the bytes.
    static func read(_ bytes: [UInt8]) throws(ProxyViolation) -> (ProxyHeader, length: Int)? {
        guard bytes.prefix(signature.count).elementsEqual(signature.prefix(bytes.count)) else { throw .noHeader }
        guard bytes.count > 12 else { return nil }
        guard bytes[12] >> 4 == 2 else { throw .unknownVersion }
        guard bytes[12] & 0x0F <= 1 else { throw .unknownCommand }
        // With the command LOCAL, the family has no meaning.
        let isLocal = bytes[12] & 0x0F == 0
        guard bytes.count > 13 else { return nil }
        let family = isLocal ? .unspecified : try family(bytes[13])
        guard bytes.count >= fixedLength else { return nil }
        let length = fixedLength + (Int(bytes[14]) << 8 | Int(bytes[15]))
        guard length <= ProxyHeaderReader.maximumLength else { throw .headerTooLong }
        guard length >= fixedLength + family.addressLength else { throw .missingAddresses }
        guard bytes.count >= length else { return nil }
        // Without a family, the end of the addresses is unknown, and there is no value that a checksum would protect.
        guard family != .unspecified else { return (isLocal ? .local : .unknown, length) }
        try checkExtensions(of: bytes[..<length], from: fixedLength + family.addressLength)
        guard let source = source(bytes[fixedLength..<length], family) else { throw .missingAddresses }
        return (.relayed(source), length)
    }

    private static func family(_ byte: UInt8) throws(ProxyViolation) -> Family {
        switch byte {
        case 0x00: return .unspecified
        case 0x11: return .v4
        case 0x21: return .v6
        case 0x31: return .unix
        case 0x12, 0x22, 0x32: throw .datagrams
        default: throw .unknownFamily
        }
    }

    private static func source(_ addresses: ArraySlice<UInt8>, _ family: Family) -> SocketAddress? {
        // The socket of a client rarely has a path, and the path has no meaning here.
        if family == .unix { return try? SocketAddress(unixDomainSocketPath: "") }
        let port = addresses.dropFirst(2 * family.rawValue).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        return SocketAddress(packed: Array(addresses.prefix(family.rawValue)), port: port)
    }

    // MARK: Extensions

    private static let checksumType: UInt8 = 0x03

    /// Validates types and lengths, and verifies the checksum if there is one.
    ///
    /// Other values are ignored.
    private static func checkExtensions(of header: ArraySlice<UInt8>, from start: Int) throws(ProxyViolation) {
        var rest = header[start...]
        var checksum: Range<Int>?
        while !rest.isEmpty {
            guard rest.count >= 3 else { throw .malformedExtension }
            let type = rest[rest.startIndex]
            let length = Int(rest[rest.startIndex + 1]) << 8 | Int(rest[rest.startIndex + 2])
            guard rest.count >= 3 + length else { throw .malformedExtension }
            let value = (rest.startIndex + 3)..<(rest.startIndex + 3 + length)
            if type == checksumType {
                guard checksum == nil, length == 4 else { throw .malformedExtension }
                checksum = value
            }
            rest = rest[value.upperBound...]
        }
        guard let checksum else { return }
        let expected = header[checksum].reduce(0) { $0 << 8 | UInt32($1) }
        guard CRC32C.checksum(header, leavingOut: checksum) == expected else { throw .wrongChecksum }
    }
}

/// The checksum of RFC 9260 (SCTP), appendix A: Castagnoli's polynomial, bits reflected.
enum CRC32C {
    private static let polynomial: UInt32 = 0x82F6_3B78

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ polynomial : value >> 1 }
    }

    /// Returns the checksum of the bytes, where those in `hole` count as zeros.
    static func checksum(_ bytes: ArraySlice<UInt8>, leavingOut hole: Range<Int> = 0..<0) -> UInt32 {
        var value = ~UInt32(0)
        for index in bytes.indices {
            let byte = hole.contains(index) ? 0 : bytes[index]
            value = value >> 8 ^ table[Int(truncatingIfNeeded: value & 0xFF ^ UInt32(byte))]
        }
        return ~value
    }
}
