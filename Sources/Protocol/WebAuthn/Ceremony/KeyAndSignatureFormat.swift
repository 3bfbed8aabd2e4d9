// SPDX-License-Identifier: Apache-2.0

private import HybridCBOR
internal import HybridCTAP
internal import HybridPrimitives

extension COSEKey {
    /// True if the key has the parameters and lengths that its algorithm requires (RFC 9053 §7, RFC 8230 §4).
    ///
    /// Keys for unknown algorithms are accepted: the website requested the algorithm and can verify the key.
    var isWellFormed: Bool {
        switch algorithm.rawValue {
        case -7, -9: x963Representation != nil
        case -35: isCurvePoint(curve: 2, length: 48)
        case -36: isCurvePoint(curve: 3, length: 66)
        case -8: ed25519Point != nil
        case -257, -258, -259, -37, -38, -39: rsaKey != nil
        default: true
        }
    }

    /// The key as DER `SubjectPublicKeyInfo` (RFC 5280 §4.1.2.7); `nil` unless it is for ES256, ESP256, RS256 or Ed25519.
    ///
    /// WebAuthn Level 3 §5.2.1.1 requires these three algorithms.
    var subjectPublicKeyInfo: [UInt8]? {
        switch algorithm {
        case .es256, .esp256: x963Representation.map { DER.keyInfo(algorithm: DER.ecP256, key: $0) }
        case .edDSA: ed25519Point.map { DER.keyInfo(algorithm: DER.ed25519, key: $0) }
        case .rs256: rsaKey.map { DER.keyInfo(algorithm: DER.rsaEncryption, key: $0) }
        default: nil
        }
    }

    private func isCurvePoint(curve: CBORValue, length: Int) -> Bool {
        parameters[1] == 2 && parameters[-1] == curve && parameters[-2]?.bytes?.count == length
            && parameters[-3]?.bytes?.count == length
    }

    /// The Ed25519 public key of 32 bytes; `nil` for another curve, which WebAuthn does not allow for EdDSA (§5.8.5).
    private var ed25519Point: [UInt8]? {
        guard parameters[1] == 1, parameters[-1] == 6, let x = parameters[-2]?.bytes, x.count == 32 else { return nil }
        return x
    }

    /// The DER sequence of modulus and exponent (RFC 8017 §A.1.1).
    private var rsaKey: [UInt8]? {
        guard parameters[1] == 3, let modulus = parameters[-1]?.bytes, let exponent = parameters[-2]?.bytes,
            (256...1024).contains(modulus.count), (1...8).contains(exponent.count)
        else { return nil }
        return DER.sequence(DER.integer(modulus) + DER.integer(exponent))
    }
}

/// A DER encoder for public keys (X.690).
private enum DER {
    /// The OIDs `id-ecPublicKey` and `prime256v1`.
    static let ecP256: [UInt8] = [
        0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01,
        0x07,
    ]
    /// The OID `id-Ed25519`.
    static let ed25519: [UInt8] = [0x06, 0x03, 0x2B, 0x65, 0x70]
    /// The OID `rsaEncryption` and NULL.
    static let rsaEncryption: [UInt8] = [
        0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]

    static func keyInfo(algorithm: [UInt8], key: [UInt8]) -> [UInt8] {
        sequence(sequence(algorithm) + element(0x03, [0x00] + key))
    }

    static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

    /// Encodes a positive integer from big-endian bytes.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let digits = bytes.drop { $0 == 0 }
        let sign: [UInt8] = (digits.first ?? 0x80) >= 0x80 ? [0x00] : []
        return element(0x02, sign + digits)
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length: [UInt8] = []
        var rest = content.count
        repeat {
            length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        } while rest > 0
        let head = content.count < 0x80 ? length : [0x80 | UInt8(length.count)] + length
        return [tag] + head + content
    }
}

/// A format check for signatures that the website verifies.
enum SignatureFormat {
    /// Returns true for a DER-encoded ECDSA signature, and for the signature lengths of other algorithms.
    static func isPossible(_ signature: [UInt8]) -> Bool {
        switch signature.count {
        // Ed25519, Ed448, and ML-DSA in its three sizes.
        case 64, 114, 2420, 3309, 4627: true
        // RSA with keys of 2,048 to 8,192 bits.
        case 256...1024: signature.count % 8 == 0
        default: isECDSA(signature)
        }
    }

    /// Returns true for a sequence of two positive integers without trailing bytes (RFC 3279 §2.2.3, X.690).
    private static func isECDSA(_ signature: [UInt8]) -> Bool {
        var outer = DERReader(signature[...])
        guard var sequence = outer.enter(.sequence), outer.isAtEnd else { return false }
        for _ in 0..<2 {
            guard let integer = sequence.take(.integer), let first = integer.first, first < 0x80 else { return false }
            // Zero and integers with superfluous leading zeros are rejected.
            if first == 0, integer.dropFirst().first.map({ $0 < 0x80 }) ?? true { return false }
        }
        return sequence.isAtEnd
    }
}
