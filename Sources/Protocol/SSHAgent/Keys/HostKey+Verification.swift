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
            guard let key = Self.rsaKey(exponent, modulus) else { throw .publicKey }
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
            rsaKey(exponent, modulus) != nil
        }
    }

    /// Returns the number of bits of a big-endian integer without leading zeros.
    static func bitCount(_ magnitude: [UInt8]) -> Int {
        magnitude.count * 8 - (magnitude.first?.leadingZeroBitCount ?? 0)
    }

    /// Returns an RSA key that the cryptographic library accepts.
    private static func rsaKey(_ exponent: [UInt8], _ modulus: [UInt8]) -> _RSA.Signing.PublicKey? {
        // OpenSSH's minimum, and the maximum of the library (RSA_check_key); OpenSSH accepts up to 16,384 bits. Checked
        // first so that no time is spent on huge numbers.
        guard (1024...8192).contains(bitCount(modulus)), exponent.count <= 4 else { return nil }
        // The other initializer refuses moduli below 2,048 bits, of which OpenSSH accepts 1,024 and more.
        let numbers = DER.encode(0x30, DER.integer(modulus) + DER.integer(exponent))
        let algorithm: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        let info = DER.encode(0x30, algorithm + DER.encode(0x03, [0] + numbers))
        return try? _RSA.Signing.PublicKey(unsafeDERRepresentation: info)
    }

    /// The few parts of DER that an RSA key needs.
    private enum DER {
        static func integer(_ magnitude: [UInt8]) -> [UInt8] {
            encode(0x02, (magnitude.first ?? 0) >= 0x80 ? [0] + magnitude : magnitude)
        }

        static func encode(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
            let count = contents.count
            if count < 0x80 { return [tag, UInt8(count)] + contents }
            if count < 0x100 { return [tag, 0x81, UInt8(count)] + contents }
            return [tag, 0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)] + contents
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
