// SPDX-License-Identifier: Apache-2.0

/// A reader of SSH data types (RFC 4251 §5), which takes values from the front.
package struct SSHReader {
    private var rest: ArraySlice<UInt8>

    /// Creates a reader of `bytes`.
    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Creates a reader of `bytes`.
    package init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// True if nothing is left.
    var isAtEnd: Bool { rest.isEmpty }

    /// Takes one byte.
    mutating func byte() throws(SSHFormatError) -> UInt8 {
        guard let byte = rest.popFirst() else { throw .truncated }
        return byte
    }

    /// Takes a Boolean value, which must be 0 or 1.
    mutating func boolean() throws(SSHFormatError) -> Bool {
        let value = try byte()
        guard value <= 1 else { throw .boolean }
        return value == 1
    }

    /// Takes a number of 4 bytes.
    mutating func uint32() throws(SSHFormatError) -> UInt32 { UInt32(try number(4)) }

    /// Takes a number of 8 bytes.
    mutating func uint64() throws(SSHFormatError) -> UInt64 { try number(8) }

    /// Takes a string: a length of 4 bytes, then the contents.
    package mutating func string() throws(SSHFormatError) -> ArraySlice<UInt8> {
        let length = Int(try uint32())
        guard length <= rest.count else { throw .truncated }
        defer { rest = rest.dropFirst(length) }
        return rest.prefix(length)
    }

    /// Takes a string that must equal `expected`.
    mutating func expect(_ expected: some StringProtocol, else error: SSHFormatError) throws(SSHFormatError) {
        guard try string().elementsEqual(expected.utf8) else { throw error }
    }

    /// Takes a positive integer in its shortest form.
    ///
    /// - Returns: The magnitude, big-endian and without leading zeros.
    mutating func positiveInteger() throws(SSHFormatError) -> ArraySlice<UInt8> {
        let contents = try string()
        guard let first = contents.first, first < 0x80 else { throw .integer }
        guard first == 0 else { return contents }
        guard let second = contents.dropFirst().first, second >= 0x80 else { throw .integer }
        return contents.dropFirst()
    }

    /// Takes all bytes that are left.
    mutating func remaining() -> ArraySlice<UInt8> {
        defer { rest = [] }
        return rest
    }

    /// Throws an error unless nothing is left.
    package func finish() throws(SSHFormatError) {
        guard isAtEnd else { throw .trailingBytes }
    }

    private mutating func number(_ length: Int) throws(SSHFormatError) -> UInt64 {
        guard rest.count >= length else { throw .truncated }
        defer { rest = rest.dropFirst(length) }
        return rest.prefix(length).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// A reason why bytes are not the expected SSH data.
public struct SSHFormatError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The data ends too early.
    public static let truncated = SSHFormatError("truncated")
    /// Bytes remain after the data.
    public static let trailingBytes = SSHFormatError("trailingBytes")
    /// A Boolean value is neither 0 nor 1.
    public static let boolean = SSHFormatError("boolean")
    /// An integer is not positive or not in its shortest form.
    public static let integer = SSHFormatError("integer")
    /// The type of a key is unknown, or its name differs from the expected one.
    public static let keyType = SSHFormatError("keyType")
    /// The curve does not match the type of the key.
    public static let curve = SSHFormatError("curve")
    /// The public key is not usable: no point of its curve, or a modulus of fewer than 1,024 or more than 8,192 bits.
    public static let publicKey = SSHFormatError("publicKey")
    /// The application of a key is not an ``SSHApplication``.
    public static let application = SSHFormatError("application")
    /// A certificate is malformed, or for a user instead of a host or the other way round.
    public static let certificate = SSHFormatError("certificate")
    /// A session identifier has fewer than 20 or more than 64 bytes.
    public static let sessionID = SSHFormatError("sessionID")
    /// The signature's algorithm does not match the key, or the signature has another length than its algorithm's.
    public static let signature = SSHFormatError("signature")

    /// The error's name.
    public let description: String

    private init(_ description: String) { self.description = description }
}
