// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The purpose of a derived key.
///
/// Chromium's authenticator uses purposes 4 to 6 to derive linking information instead of storing it.
enum KeyPurpose: UInt32 {
    case eidKey = 1
    case tunnelID = 2
    case psk = 3

    /// The name in HKDF's `info` of a transfer.
    fileprivate var name: String {
        switch self {
        case .eidKey: "eid"
        case .tunnelID: "tunnel"
        case .psk: "psk"
        }
    }
}

/// The kind of ceremony that a code begins, on which all keys depend.
enum CodeCeremony {
    /// A sign-in, or another request of FIDO's hybrid transport.
    case signIn
    /// A transfer.
    case transfer

    private static let transferName = "hybrid transfer v1"

    /// HKDF's `info` for a purpose: the number as four little-endian bytes, or a text in UTF-8.
    func info(_ purpose: KeyPurpose) -> [UInt8] {
        switch self {
        case .signIn: purpose.rawValue.littleEndianBytes
        case .transfer: Array("\(Self.transferName) \(purpose.name)".utf8)
        }
    }

    /// The prologue of the handshake.
    var prologue: [UInt8] {
        switch self {
        case .signIn: [1]
        case .transfer: Array(Self.transferName.utf8)
        }
    }
}

/// Key derivation of the hybrid transport: HKDF-SHA256 with the purpose as `info` (CTAP 2.2 §11.5.1).
///
/// All ceremonies with a linked phone are sign-ins.
enum KeySchedule {
    /// Returns the key of an advert; an empty salt is equivalent to RFC 5869's default salt of zeros.
    static func eidKey(_ secret: SymmetricKey, salt: [UInt8], _ ceremony: CodeCeremony = .signIn) -> EIDKey {
        EIDKey(key: derive(secret, salt: salt, info: ceremony.info(.eidKey), length: EIDKey.length))
    }

    /// Returns the ID of the tunnel of a code.
    static func tunnelID(_ secret: SymmetricKey, _ ceremony: CodeCeremony = .signIn) -> TunnelID {
        let derived = derive(secret, salt: [], info: ceremony.info(.tunnelID), length: TunnelID.length)
        return TunnelID(checked: derived.withUnsafeBytes { Array($0) })
    }

    /// Returns the handshake's pre-shared key, whose derivation requires the plaintext of the advert.
    static func psk(_ secret: SymmetricKey, for eid: EID, _ ceremony: CodeCeremony = .signIn) -> PSK {
        PSK(key: derive(secret, salt: eid.plaintext, info: ceremony.info(.psk), length: PSK.length))
    }

    /// Derives a key of `length` bytes.
    static func derive(_ secret: SymmetricKey, salt: [UInt8], info: [UInt8], length: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, salt: salt, info: info, outputByteCount: length)
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
