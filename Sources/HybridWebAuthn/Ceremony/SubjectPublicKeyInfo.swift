// SPDX-License-Identifier: Apache-2.0

private import HybridCBOR
internal import HybridCTAP

extension COSEKey {
    /// The key as DER `SubjectPublicKeyInfo` (RFC 5280 §4.1.2.7) for the algorithms of WebAuthn Level 3 §5.2.1.1: ES256,
    /// RS256 and Ed25519; `nil` for other algorithms.
    var subjectPublicKeyInfo: [UInt8]? {
        switch algorithm {
        case .es256: x963Representation.map { DER.keyInfo(algorithm: DER.ecP256, key: $0) }
        case .edDSA: ed25519
        case .rs256: rsa
        default: nil
        }
    }

    private var ed25519: [UInt8]? {
        guard parameters[1] == 1, parameters[-1] == 6, let x = parameters[-2]?.bytes, x.count == 32 else { return nil }
        return DER.keyInfo(algorithm: DER.ed25519, key: x)
    }

    private var rsa: [UInt8]? {
        guard parameters[1] == 3, let modulus = parameters[-1]?.bytes, let exponent = parameters[-2]?.bytes,
            !modulus.isEmpty, !exponent.isEmpty
        else { return nil }
        let key = DER.sequence(DER.integer(modulus) + DER.integer(exponent))
        return DER.keyInfo(algorithm: DER.rsaEncryption, key: key)
    }
}

/// A DER encoder for public keys (X.690).
private enum DER {
    /// The OIDs id-ecPublicKey and prime256v1.
    static let ecP256: [UInt8] = [
        0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01,
        0x07,
    ]
    /// The OID id-Ed25519.
    static let ed25519: [UInt8] = [0x06, 0x03, 0x2B, 0x65, 0x70]
    /// The OID rsaEncryption and NULL.
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
