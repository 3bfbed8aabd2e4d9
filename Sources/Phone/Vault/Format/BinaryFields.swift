// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Big-endian numbers, which all files of a vault use.
extension [UInt8] {
    /// Returns the beginning of every binary file: magic (8) ‖ format (2).
    static func header(magic: [UInt8]) -> [UInt8] {
        var header = magic
        header.append(bigEndian: VaultIdentity.format)
        return header
    }

    /// The bytes, followed by their SHA-256.
    var checksummed: [UInt8] { self + Sealing.checksum(self) }

    /// Appends a number, most significant byte first.
    mutating func append(bigEndian number: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

/// A reader that takes fields of fixed length from the front of a file and checks the length at each step.
struct BinaryFieldReader {
    /// Bytes that have not been taken.
    private(set) var rest: ArraySlice<UInt8>

    /// Creates a reader at the front of `bytes`.
    init(_ bytes: some Collection<UInt8>) { self.rest = Array(bytes)[...] }

    /// Creates a reader positioned after the magic and format of a file; `nil` if these are wrong.
    init?(_ bytes: some Collection<UInt8>, magic: [UInt8]) {
        self.init(bytes)
        guard take(exactly: magic), take(UInt16.self) == VaultIdentity.format else { return nil }
    }

    /// Creates a reader positioned after the magic and format of a file that ends with its checksum.
    ///
    /// The checksum is the SHA-256 of the preceding bytes. Returns `nil` if length, checksum, magic or format is wrong.
    init?(checksummed bytes: [UInt8], length: Int, magic: [UInt8]) {
        guard bytes.count == length, Array(bytes.dropLast(32)).checksummed == bytes else { return nil }
        self.init(bytes, magic: magic)
    }

    /// Takes a vault ID (16 bytes) and a test flag (1 byte).
    mutating func takeIdentity() -> VaultIdentity? {
        guard let id = take(16), let test = take(UInt8.self), test <= 1 else { return nil }
        return VaultIdentity(id: id, isTest: test == 1)
    }

    /// Takes a key ID (16 bytes).
    mutating func takeKeyID() -> VaultKeyID? { take(VaultKeyID.length).flatMap(VaultKeyID.init(bytes:)) }

    /// Takes a device ID (8 bytes).
    mutating func takeDeviceID() -> DeviceID? { take(DeviceID.length).flatMap(DeviceID.init(bytes:)) }

    /// Takes the parameters of scrypt, one byte each: log2 N ‖ r ‖ p.
    ///
    /// - Parameter isTest: True in a test vault, whose parameters may be lower.
    mutating func takeScrypt(isTest: Bool) -> Scrypt? {
        guard let logN = take(UInt8.self), let r = take(UInt8.self), let p = take(UInt8.self) else { return nil }
        return Scrypt(logN: logN, r: r, p: p, isTest: isTest)
    }

    /// Takes the next `count` bytes, or returns `nil` if there are fewer.
    mutating func take(_ count: Int) -> [UInt8]? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Takes the next number, most significant byte first.
    mutating func take<Number: FixedWidthInteger & UnsignedInteger>(_ type: Number.Type) -> Number? {
        take(Number.bitWidth / 8)?.reduce(0) { $0 << 8 | Number($1) }
    }

    /// Takes the next bytes; returns true if they equal `expected`.
    mutating func take(exactly expected: [UInt8]) -> Bool { take(expected.count) == expected }
}
