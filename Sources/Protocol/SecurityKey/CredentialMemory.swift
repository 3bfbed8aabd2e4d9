// SPDX-License-Identifier: Apache-2.0

private import Crypto
public import HybridCBOR
public import HybridCTAP
public import HybridPrimitives

/// The credentials of local relying parties that were created or used through this key.
///
/// The phone cannot be asked whether it has a credential without disturbing its user. This memory answers instead. It
/// contains codes that are useless without the ``InstallationKey``, so a copy of the file lists no accounts. Its size
/// is bounded: a new entry replaces the one that was noted first.
public struct CredentialMemory: Equatable, Sendable {
    /// Maximum number of entries.
    public static let maximumCount = 1024

    /// HMAC-SHA-256 of each credential, in the order in which they were noted.
    private var codes: [[UInt8]] = []

    /// Creates an empty memory.
    public init() {}

    /// Number of entries.
    public var count: Int { codes.count }

    /// Returns true if a credential of a relying party was noted.
    public func contains(_ id: CredentialID, of relyingParty: RelyingPartyID, key: InstallationKey) -> Bool {
        codes.contains(key.code(of: id, relyingParty))
    }

    /// Adds a credential.
    ///
    /// - Returns: `false` if it was noted already.
    public mutating func note(_ id: CredentialID, of relyingParty: RelyingPartyID, key: InstallationKey) -> Bool {
        let code = key.code(of: id, relyingParty)
        guard !codes.contains(code) else { return false }
        if codes.count >= Self.maximumCount { codes.removeFirst() }
        codes.append(code)
        return true
    }

    /// The content of a file: canonical CBOR `{1: 1, 2: [codes]}`.
    public var encoded: [UInt8] {
        CBOREncoder.encode([1: 1, 2: .array(codes.map { .bytes($0) })] as CBORMap)
    }

    /// Creates a memory from the content of a file.
    ///
    /// - Throws: ``CredentialMemoryError``.
    public init(parsing bytes: [UInt8]) throws(CredentialMemoryError) {
        let map: CBORMap?
        do throws(CBORError) {
            map = try CBORDecoder.decode(bytes, mode: .strict).map
        } catch {
            throw .cbor(error)
        }
        guard let map, let version = map[1] else { throw .malformed }
        guard version == 1 else { throw .unknownVersion }
        guard map.count == 2, let list = map[2]?.array, list.count <= Self.maximumCount else { throw .malformed }
        for element in list {
            guard let code = element.bytes, code.count == 32, !codes.contains(code) else { throw .malformed }
            codes.append(code)
        }
    }
}

/// A secret of one installation, from which the codes of a ``CredentialMemory`` are computed.
public struct InstallationKey: FixedLengthBytes, SecretMaterial, Sendable {
    /// Length in bytes.
    public static let length = 32

    private let key: SymmetricKey

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { key = SymmetricKey(data: Array(bytes)) }

    fileprivate func code(of id: CredentialID, _ relyingParty: RelyingPartyID) -> [UInt8] {
        let name = Array(relyingParty.text.utf8)
        let message = Self.prefixed(name) + Self.prefixed(id.bytes)
        return Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
    }

    /// Returns the bytes after their length, so that no two pairs have the same concatenation.
    private static func prefixed(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes
    }
}

/// A reason why a file is not a ``CredentialMemory``.
public struct CredentialMemoryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The structure or the length of an entry is wrong.
    public static let malformed = CredentialMemoryError("malformed")
    /// The file was written by a newer program.
    public static let unknownVersion = CredentialMemoryError("unknownVersion")

    /// The error's name, with the cause in parentheses.
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The file is not canonical CBOR.
    public static func cbor(_ error: CBORError) -> CredentialMemoryError { CredentialMemoryError("cbor(\(error))") }
}
