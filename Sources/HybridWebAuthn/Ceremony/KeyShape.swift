// SPDX-License-Identifier: Apache-2.0

private import HybridCBOR
internal import HybridCTAP

extension COSEKey {
    /// Whether the key has what its algorithm needs, in the lengths it must have (RFC 9053 §7, RFC 8230 §4).
    ///
    /// Of algorithms that are not known here nothing is demanded: the website asked for them and can tell.
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

    /// WebAuthn has Ed25519 alone under this number (§5.8.5).
    private var isKnownEdwardsPoint: Bool { parameters[-1] == 6 && parameters[-2]?.bytes?.count == 32 }

    private var isRSA: Bool {
        guard parameters[1] == 3, let modulus = parameters[-1]?.bytes, let exponent = parameters[-2]?.bytes else {
            return false
        }
        return (256...1024).contains(modulus.count) && (1...8).contains(exponent.count)
    }
}

/// What a signature may look like to who does not know the key: the website verifies it.
enum SignatureShape {
    /// ECDSA in DER, or one of the lengths that other algorithms have.
    static func isPossible(_ signature: [UInt8]) -> Bool {
        switch signature.count {
        // Ed25519, Ed448, and ML-DSA in its three sizes.
        case 64, 114, 2420, 3309, 4627: true
        // RSA of 2,048 to 8,192 bits.
        case 256...1024: signature.count % 8 == 0
        default: isECDSA(signature)
        }
    }

    /// A sequence of two positive integers that fills the bytes (RFC 3279 §2.2.3, X.690).
    private static func isECDSA(_ signature: [UInt8]) -> Bool {
        var rest = signature[...]
        guard let content = element(0x30, &rest), rest.isEmpty else { return false }
        rest = content
        for _ in 0..<2 {
            guard let integer = element(0x02, &rest), let first = integer.first, first < 0x80 else { return false }
            // The shortest form, and not zero.
            if first == 0, integer.dropFirst().first.map({ $0 < 0x80 }) ?? true { return false }
        }
        return rest.isEmpty
    }

    /// Takes an element of at most 255 bytes off the front.
    private static func element(_ tag: UInt8, _ bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.popFirst() == tag, var length = bytes.popFirst().map({ Int($0) }) else { return nil }
        if length == 0x81 {
            guard let long = bytes.popFirst(), long >= 0x80 else { return nil }
            length = Int(long)
        } else if length > 0x7F {
            return nil
        }
        guard bytes.count >= length else { return nil }
        defer { bytes = bytes.dropFirst(length) }
        return bytes.prefix(length)
    }
}
