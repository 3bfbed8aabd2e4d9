// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import CryptoExtras

extension HostKey {
    /// Verifies this key's signature of a session identifier, which ends the server's key exchange (RFC 4253 §8).
    ///
    /// - Parameters:
    ///   - signature: string algorithm ‖ string signature. RSA with SHA-1 is not accepted.
    ///   - sessionID: The signed session identifier.
    /// - Returns: True if the signature is valid.
    /// - Throws: ``SSHFormatError`` if it is malformed or has another key's algorithm.
    func isValid(_ signature: [UInt8], for sessionID: SSHSessionID) throws(SSHFormatError) -> Bool {
        var reader = SSHReader(signature)
        let algorithm = String(decoding: try reader.string(), as: UTF8.self)
        let value = try reader.string()
        try reader.finish()
        switch material {
        case .ed25519(let key):
            guard algorithm == "ssh-ed25519", value.count == 64 else { throw .signature }
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: key)
            return key?.isValidSignature(Array(value), for: sessionID.bytes) ?? false
        case .ecdsa(let curve, let point):
            guard algorithm == "ecdsa-sha2-\(curve.rawValue)" else { throw .signature }
            return try curve.isValid(value, for: sessionID.bytes, point: point)
        case .rsa(let exponent, let modulus):
            guard let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent) else { throw .publicKey }
            // Some servers omit leading zeros.
            guard value.count <= modulus.count else { throw .signature }
            let padded = [UInt8](repeating: 0, count: modulus.count - value.count) + value
            let signature = _RSA.Signing.RSASignature(rawRepresentation: padded)
            switch algorithm {
            case "rsa-sha2-256":
                return key.isValidSignature(
                    signature,
                    for: SHA256.hash(data: sessionID.bytes),
                    padding: .insecurePKCS1v1_5
                )
            case "rsa-sha2-512":
                return key.isValidSignature(
                    signature,
                    for: SHA512.hash(data: sessionID.bytes),
                    padding: .insecurePKCS1v1_5
                )
            default: throw .signature
            }
        }
    }

    /// Returns true if the cryptographic library accepts the key.
    static func isUsable(_ material: Material) -> Bool {
        switch material {
        case .ed25519(let key): key.count == 32 && (try? Curve25519.Signing.PublicKey(rawRepresentation: key)) != nil
        case .ecdsa(let curve, let point): curve.contains(point)
        case .rsa(let exponent, let modulus):
            // The bounds of the library, checked first so that no time is spent on huge numbers.
            (256...1024).contains(modulus.count) && exponent.count <= 4
                && (try? _RSA.Signing.PublicKey(n: modulus, e: exponent)) != nil
        }
    }
}

extension HostKeyCurve {
    /// Length of a coordinate in bytes.
    private var length: Int {
        switch self {
        case .nistp256: 32
        case .nistp384: 48
        case .nistp521: 66
        }
    }

    /// Returns true if the bytes are an uncompressed point of this curve.
    func contains(_ point: [UInt8]) -> Bool {
        guard point.count == 1 + 2 * length, point.first == 4 else { return false }
        return switch self {
        case .nistp256: (try? P256.Signing.PublicKey(x963Representation: point)) != nil
        case .nistp384: (try? P384.Signing.PublicKey(x963Representation: point)) != nil
        case .nistp521: (try? P521.Signing.PublicKey(x963Representation: point)) != nil
        }
    }

    /// Returns true if mpint r ‖ mpint s is a valid signature of the data, with the hash of RFC 5656 §6.2.1.
    func isValid(_ signature: ArraySlice<UInt8>, for data: [UInt8], point: [UInt8]) throws(SSHFormatError) -> Bool {
        var reader = SSHReader(signature)
        var raw: [UInt8] = []
        for _ in 0..<2 {
            let number = try reader.positiveInteger()
            guard number.count <= length else { throw .signature }
            raw += [UInt8](repeating: 0, count: length - number.count) + number
        }
        try reader.finish()
        do {
            return switch self {
            case .nistp256:
                try P256.Signing.PublicKey(x963Representation: point)
                    .isValidSignature(.init(rawRepresentation: raw), for: SHA256.hash(data: data))
            case .nistp384:
                try P384.Signing.PublicKey(x963Representation: point)
                    .isValidSignature(.init(rawRepresentation: raw), for: SHA384.hash(data: data))
            case .nistp521:
                try P521.Signing.PublicKey(x963Representation: point)
                    .isValidSignature(.init(rawRepresentation: raw), for: SHA512.hash(data: data))
            }
        } catch {
            return false
        }
    }
}
