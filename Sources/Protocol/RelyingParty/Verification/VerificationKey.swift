// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras
internal import HybridCBOR
internal import HybridCTAP

/// A public key together with its algorithm (WebAuthn Level 3 §5.8.5, §6.5.5).
enum VerificationKey {
    case es256(P256.Signing.PublicKey)
    case es384(P384.Signing.PublicKey)
    case es512(P521.Signing.PublicKey)
    case ed25519(Curve25519.Signing.PublicKey)
    case rs256(_RSA.Signing.PublicKey)

    /// Range of RSA moduli in bytes; larger ones would let a client waste time.
    static let modulusLengths = 256...1024

    /// Creates a key from a credential's; `nil` for an unsupported algorithm or a malformed key.
    init?(_ key: COSEKey) {
        switch key.algorithm.rawValue {
        case -7, -9:
            guard let point = key.p256 else { return nil }
            self = .es256(point)
        case -35:
            guard let point = Self.point(key, curve: 2, length: 48),
                let publicKey = try? P384.Signing.PublicKey(x963Representation: point)
            else { return nil }
            self = .es384(publicKey)
        case -36:
            guard let point = Self.point(key, curve: 3, length: 66),
                let publicKey = try? P521.Signing.PublicKey(x963Representation: point)
            else { return nil }
            self = .es512(publicKey)
        case -8:
            guard key.parameters[1] == 1, key.parameters[-1] == 6, let x = key.parameters[-2]?.bytes,
                let publicKey = try? Curve25519.Signing.PublicKey(rawRepresentation: x)
            else { return nil }
            self = .ed25519(publicKey)
        case -257:
            guard key.parameters[1] == 3, let modulus = key.parameters[-1]?.bytes,
                let exponent = key.parameters[-2]?.bytes, Self.modulusLengths.contains(modulus.count),
                (1...8).contains(exponent.count),
                let publicKey = try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
            else { return nil }
            self = .rs256(publicKey)
        default: return nil
        }
    }

    /// Returns true if a signature over `data` is valid; ECDSA signatures are in DER (§6.5.5).
    func isValid(_ signature: [UInt8], for data: [UInt8]) -> Bool {
        switch self {
        case .es256(let key):
            (try? P256.Signing.ECDSASignature(derRepresentation: signature))
                .map { key.isValidSignature($0, for: data) } ?? false
        case .es384(let key):
            (try? P384.Signing.ECDSASignature(derRepresentation: signature))
                .map { key.isValidSignature($0, for: data) } ?? false
        case .es512(let key):
            (try? P521.Signing.ECDSASignature(derRepresentation: signature))
                .map { key.isValidSignature($0, for: data) } ?? false
        case .ed25519(let key): key.isValidSignature(signature, for: data)
        case .rs256(let key):
            key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature),
                for: SHA256.hash(data: data),
                padding: .insecurePKCS1v1_5
            )
        }
    }

    /// Returns the uncompressed point of an EC2 key; each coordinate has `length` bytes.
    private static func point(_ key: COSEKey, curve: CBORValue, length: Int) -> [UInt8]? {
        guard key.parameters[1] == 2, key.parameters[-1] == curve, let x = key.parameters[-2]?.bytes,
            let y = key.parameters[-3]?.bytes, x.count == length, y.count == length
        else { return nil }
        return [0x04] + x + y
    }
}
