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
        case -7: x963Representation != nil
        case -35: isCurvePoint(curve: 2, length: 48)
        case -36: isCurvePoint(curve: 3, length: 66)
        case -8: parameters[1] == 1 && isKnownEdwardsPoint
        case -257, -258, -259, -37, -38, -39: isRSA
        default: true
        }
    }

    private func isCurvePoint(curve: CBORValue, length: Int) -> Bool {
        parameters[1] == 2 && parameters[-1] == curve && parameters[-2]?.bytes?.count == length
            && parameters[-3]?.bytes?.count == length
    }

    /// True for Ed25519, the only curve that WebAuthn allows for this algorithm (§5.8.5).
    private var isKnownEdwardsPoint: Bool { parameters[-1] == 6 && parameters[-2]?.bytes?.count == 32 }

    private var isRSA: Bool {
        guard parameters[1] == 3, let modulus = parameters[-1]?.bytes, let exponent = parameters[-2]?.bytes else {
            return false
        }
        return (256...1024).contains(modulus.count) && (1...8).contains(exponent.count)
    }
}

/// A format check for signatures that the website verifies.
enum SignatureFormat {
    /// Returns true for ECDSA in DER, and for lengths that other algorithms have.
    static func isPossible(_ signature: [UInt8]) -> Bool {
        switch signature.count {
        // Ed25519, Ed448, and ML-DSA in its three sizes.
        case 64, 114, 2420, 3309, 4627: true
        // RSA of 2,048 to 8,192 bits.
        case 256...1024: signature.count % 8 == 0
        default: isECDSA(signature)
        }
    }

    /// Returns true for a sequence of two positive integers that fills the bytes (RFC 3279 §2.2.3, X.690).
    private static func isECDSA(_ signature: [UInt8]) -> Bool {
        var outer = DERReader(signature[...])
        guard var sequence = outer.enter(.sequence), outer.isAtEnd else { return false }
        for _ in 0..<2 {
            guard let integer = sequence.take(.integer), let first = integer.first, first < 0x80 else { return false }
            // The shortest form, and not zero.
            if first == 0, integer.dropFirst().first.map({ $0 < 0x80 }) ?? true { return false }
        }
        return sequence.isAtEnd
    }
}
