// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The purpose of a derived key; HKDF's `info` is this number as four little-endian bytes.
///
/// Chromium's authenticator uses purposes 4 to 6 to derive linking information instead of storing it.
enum KeyPurpose: UInt32 {
    case eidKey = 1
    case tunnelID = 2
    case psk = 3
}

/// Key derivation of the hybrid transport: HKDF-SHA256 with the purpose as `info` (CTAP 2.2 §11.5.1).
enum KeySchedule {
    /// Derives a key of `length` bytes; an empty salt is equivalent to RFC 5869's default salt of zeros.
    static func derive(_ secret: SymmetricKey, salt: [UInt8], purpose: KeyPurpose, length: Int) -> SymmetricKey {
        let info = purpose.rawValue.littleEndianBytes
        return HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, salt: salt, info: info, outputByteCount: length)
    }
}

extension FixedWidthInteger {
    /// The bytes of the number, the least significant one first.
    var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}

extension SymmetricKey {
    /// Returns the bytes of the key in a range as a new key, which is also wiped on release.
    func part(_ range: Range<Int>) -> SymmetricKey {
        withUnsafeBytes { SymmetricKey(data: UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}
