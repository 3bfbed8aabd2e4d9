// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A private key as PKCS#8 has it (RFC 5958), in DER: what is read, and nothing that is not exactly that.
///
/// swift-crypto reads such keys, too, but also SEC 1 keys without any wrapping, passes over the public key inside, and
/// does not tell a key of another kind from a broken one.
enum PrivateKeyInfo {
    /// The longest that is looked at; RSA keys of 8,192 bits are shorter.
    static let maximumLength = 8192

    /// Why there is no key.
    enum Refusal: Error, Equatable {
        /// It is a key of another algorithm or curve.
        case otherAlgorithm
        /// It is no key in PKCS#8, or none that can be.
        case malformed
    }

    private static let idECPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    private static let prime256v1: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

    /// Reads a key for ES256.
    static func p256(_ der: [UInt8]) throws(Refusal) -> P256.Signing.PrivateKey {
        guard der.count <= maximumLength else { throw .malformed }
        var outer = DERReader(der[...])
        var info = try outer.enter(DERReader.sequence)
        try outer.end()
        // Version 1 has no public key beside the private one, version 2 may.
        let version = try info.take(DERReader.integer)
        guard version.elementsEqual([0]) || version.elementsEqual([1]) else { throw .malformed }
        var algorithm = try info.enter(DERReader.sequence)
        guard try algorithm.take(DERReader.objectIdentifier).elementsEqual(idECPublicKey) else { throw .otherAlgorithm }
        guard algorithm.next == DERReader.objectIdentifier,
            try algorithm.take(DERReader.objectIdentifier).elementsEqual(prime256v1)
        else { throw .otherAlgorithm }
        try algorithm.end()
        var key = DERReader(try info.take(DERReader.octetString))
        if info.next == 0xA0 { _ = try info.take(0xA0) }
        var publicKeys: [ArraySlice<UInt8>] = []
        if version.elementsEqual([1]), info.next == 0x81 { publicKeys.append(try info.take(0x81)) }
        try info.end()

        // RFC 5915.
        var content = try key.enter(DERReader.sequence)
        try key.end()
        guard try content.take(DERReader.integer).elementsEqual([1]) else { throw .malformed }
        let scalar = try content.take(DERReader.octetString)
        if content.next == 0xA0 {
            var parameters = try content.enter(0xA0)
            guard try parameters.take(DERReader.objectIdentifier).elementsEqual(prime256v1) else { throw .malformed }
            try parameters.end()
        }
        if content.next == 0xA1 {
            var wrapped = try content.enter(0xA1)
            publicKeys.append(try wrapped.take(DERReader.bitString))
            try wrapped.end()
        }
        try content.end()
        guard scalar.count == 32, let found = try? P256.Signing.PrivateKey(rawRepresentation: Array(scalar)) else {
            throw .malformed
        }
        for bits in publicKeys {
            // The first byte counts the bits that are not used.
            guard bits.first == 0 else { throw .malformed }
            let point = bits.dropFirst()
            let isSame =
                point.elementsEqual(found.publicKey.x963Representation)
                || point.elementsEqual(found.publicKey.compressedRepresentation)
            guard isSame else { throw .malformed }
        }
        return found
    }
}

/// Takes elements from the front of DER (X.690): definite lengths in their shortest form.
private struct DERReader {
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let objectIdentifier: UInt8 = 0x06
    static let sequence: UInt8 = 0x30

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The tag of the next element.
    var next: UInt8? { rest.first }

    /// The content of the next element, which must have that tag.
    mutating func take(_ tag: UInt8) throws(PrivateKeyInfo.Refusal) -> ArraySlice<UInt8> {
        guard rest.popFirst() == tag, let first = rest.popFirst() else { throw .malformed }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            // Nothing longer than two bytes can say was let in.
            guard (1...2).contains(count), rest.count >= count else { throw .malformed }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
            guard length >= (count == 1 ? 0x80 : 0x100) else { throw .malformed }
        }
        guard rest.count >= length else { throw .malformed }
        defer { rest = rest.dropFirst(length) }
        return rest.prefix(length)
    }

    /// A reader of the next element's content.
    mutating func enter(_ tag: UInt8) throws(PrivateKeyInfo.Refusal) -> DERReader { DERReader(try take(tag)) }

    /// Refuses anything more.
    func end() throws(PrivateKeyInfo.Refusal) {
        guard rest.isEmpty else { throw .malformed }
    }
}
