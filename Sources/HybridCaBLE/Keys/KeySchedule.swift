// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// What a derived key is for; the number goes into HKDF's `info` as four little-endian bytes.
///
/// Numbers 4 to 6 are how Chromium's phone side keeps links without storing them; other phones need none.
enum KeyPurpose: UInt32 {
    case eidKey = 1
    case tunnelID = 2
    case psk = 3
    case pairedSecret = 4
    case identityKeySeed = 5
    case perContactSecret = 6
}

/// The one derivation of hybrid transports: HKDF-SHA256 with the purpose as `info` (CTAP 2.2 §11.5.1).
enum KeySchedule {
    /// Derives `length` bytes; an empty salt is RFC 5869's salt of zeros.
    static func derive(_ secret: SymmetricKey, salt: [UInt8], purpose: KeyPurpose, length: Int) -> SymmetricKey {
        let number = purpose.rawValue
        let info = (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
        return HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, salt: salt, info: info, outputByteCount: length)
    }
}

extension SymmetricKey {
    /// A part of the key, moved without leaving wiped memory.
    func part(_ range: Range<Int>) -> SymmetricKey {
        withUnsafeBytes { SymmetricKey(data: UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}
