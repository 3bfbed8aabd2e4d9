// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// A strict reader for private keys in PKCS#8 (RFC 5958), encoded in DER.
///
/// swift-crypto also reads such keys, but it accepts bare SEC 1 keys and ignores the public key inside. It also does
/// not distinguish a key for another algorithm from a malformed one.
enum PrivateKeyInfo {
    /// Maximum length, in bytes; RSA keys of 8,192 bits are shorter.
    static let maximumLength = 8192

    /// Errors of ``p256(_:)``.
    enum ParseError: Error, Equatable {
        /// The key is for another algorithm or curve.
        case otherAlgorithm
        /// The bytes are not a valid PKCS#8 key.
        case malformed
    }

    private static let idECPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    private static let prime256v1: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

    /// Reads a key for ES256.
    static func p256(_ der: [UInt8]) throws(ParseError) -> P256.Signing.PrivateKey {
        guard der.count <= maximumLength else { throw .malformed }
        var outer = DERReader(der[...])
        var info = try enter(&outer, .sequence)
        try end(outer)
        // Version 1 has no public key beside the private one; version 2 may have one.
        let version = try take(&info, .integer)
        guard version.elementsEqual([0]) || version.elementsEqual([1]) else { throw .malformed }
        var algorithm = try enter(&info, .sequence)
        guard try take(&algorithm, .objectIdentifier).elementsEqual(idECPublicKey) else { throw .otherAlgorithm }
        guard algorithm.nextTag == .objectIdentifier,
            try take(&algorithm, .objectIdentifier).elementsEqual(prime256v1)
        else { throw .otherAlgorithm }
        try end(algorithm)
        var key = DERReader(try take(&info, .octetString))
        if info.nextTag == .context(0) { _ = try take(&info, .context(0)) }
        var publicKeys: [ArraySlice<UInt8>] = []
        // [1], primitive: implicitly tagged.
        let publicKey = DERReader.Tag(rawValue: 0x81)
        if version.elementsEqual([1]), info.nextTag == publicKey { publicKeys.append(try take(&info, publicKey)) }
        try end(info)

        // ECPrivateKey (RFC 5915).
        var content = try enter(&key, .sequence)
        try end(key)
        guard try take(&content, .integer).elementsEqual([1]) else { throw .malformed }
        let scalar = try take(&content, .octetString)
        if content.nextTag == .context(0) {
            var parameters = try enter(&content, .context(0))
            guard try take(&parameters, .objectIdentifier).elementsEqual(prime256v1) else { throw .malformed }
            try end(parameters)
        }
        if content.nextTag == .context(1) {
            var wrapped = try enter(&content, .context(1))
            publicKeys.append(try take(&wrapped, .bitString))
            try end(wrapped)
        }
        try end(content)
        guard scalar.count == 32, let found = try? P256.Signing.PrivateKey(rawRepresentation: Array(scalar)) else {
            throw .malformed
        }
        for bits in publicKeys {
            // The first byte is the number of unused bits.
            guard bits.first == 0 else { throw .malformed }
            let point = bits.dropFirst()
            let isSame =
                point.elementsEqual(found.publicKey.x963Representation)
                || point.elementsEqual(found.publicKey.compressedRepresentation)
            guard isSame else { throw .malformed }
        }
        return found
    }

    private static func take(_ reader: inout DERReader, _ tag: DERReader.Tag) throws(ParseError) -> ArraySlice<UInt8> {
        guard let contents = reader.take(tag) else { throw .malformed }
        return contents
    }

    private static func enter(_ reader: inout DERReader, _ tag: DERReader.Tag) throws(ParseError) -> DERReader {
        DERReader(try take(&reader, tag))
    }

    /// Throws an error if anything follows the last element.
    private static func end(_ reader: DERReader) throws(ParseError) {
        guard reader.isAtEnd else { throw .malformed }
    }
}
