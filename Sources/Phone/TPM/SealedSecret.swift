// SPDX-License-Identifier: Apache-2.0

package import HybridPrimitives

/// A secret that one TPM has sealed, and that opens with an authorization value on that TPM only.
package struct SealedSecret: Equatable, Sendable {
    /// Length of the secret and of the authorization value, in bytes.
    package static let secretLength = 32
    /// Length of a TPM2B_PUBLIC of such an object, in bytes.
    package static let publicLength = 48
    /// Limit of the length of a TPM2B_PRIVATE, in bytes, including the two bytes of its length.
    package static let maximumPrivateLength = 514
    /// Length of a name: an algorithm (2) and a SHA-256 (32).
    package static let nameLength = 34
    /// The name of a key that could not be created.
    package static let unknownName = [UInt8](repeating: 0, count: nameLength)

    /// The beginning of each TPM2B_PUBLIC, up to the hash in `unique`.
    ///
    /// Length 46, keyedHash, SHA-256, attributes, no policy, no scheme, length 32. The attributes are fixedTPM,
    /// fixedParent and userWithAuth. noDA is clear, so that the TPM counts wrong authorization values.
    static let publicPrefix: [UInt8] =
        [0x00, 0x2E, 0x00, 0x08, 0x00, 0x0B] + attributes.bigEndianBytes + [0x00, 0x00, 0x00, 0x10, 0x00, 0x20]
    /// fixedTPM, fixedParent and userWithAuth.
    static let attributes: UInt32 = 1 << 1 | 1 << 4 | 1 << 6

    /// Vendor ID of the TPM, 4 bytes.
    package let manufacturer: [UInt8]
    /// Name of the storage key that protects the object, 34 bytes.
    package let parentName: [UInt8]
    /// Name of a primary key in the endorsement hierarchy, which identifies a TPM even after it was cleared.
    ///
    /// 34 bytes; ``unknownName`` if the hierarchy has a password. It only selects a message.
    package let endorsementName: [UInt8]
    /// TPM2B_PUBLIC of the object.
    package let publicArea: [UInt8]
    /// TPM2B_PRIVATE of the object, which only the TPM can decrypt.
    package let privateArea: [UInt8]

    /// Creates a sealed secret from its fields; `nil` if one does not have the form of those that ``TPMAddress`` makes.
    package init?(
        manufacturer: [UInt8],
        parentName: [UInt8],
        endorsementName: [UInt8],
        publicArea: [UInt8],
        privateArea: [UInt8]
    ) {
        guard manufacturer.count == 4, parentName.count == Self.nameLength, parentName.starts(with: [0x00, 0x0B]),
            endorsementName.count == Self.nameLength, publicArea.count == Self.publicLength,
            publicArea.starts(with: Self.publicPrefix),
            (3...Self.maximumPrivateLength).contains(privateArea.count),
            Int(privateArea[0]) << 8 | Int(privateArea[1]) == privateArea.count - 2
        else { return nil }
        self.manufacturer = manufacturer
        self.parentName = parentName
        self.endorsementName = endorsementName
        self.publicArea = publicArea
        self.privateArea = privateArea
    }
}

extension TPMAddress {
    /// Seals a secret for this TPM; slow.
    ///
    /// - Parameters:
    ///   - secret: 32 bytes.
    ///   - authorization: 32 bytes, the last of which is not 0: TPMs ignore trailing zeros, some versions of libtss2
    ///     did not.
    /// - Throws: ``TPMError``.
    package func seal(
        _ secret: UnsafeRawBufferPointer,
        authorization: UnsafeRawBufferPointer
    ) throws(TPMError) -> SealedSecret {
        precondition(secret.count == SealedSecret.secretLength && authorization.count == SealedSecret.secretLength)
        precondition(authorization.last != 0)
        return try TPMConnection(self).seal(secret, authorization: authorization)
    }

    /// Opens a sealed secret.
    ///
    /// The TPM is not asked if fewer than ``TPMLockout/reserve`` tries are left.
    ///
    /// - Returns: The secret; `nil` if the authorization value is wrong, which the TPM has counted.
    /// - Throws: ``TPMError``; nothing was counted.
    package func unseal(
        _ sealed: SealedSecret,
        authorization: UnsafeRawBufferPointer
    ) throws(TPMError) -> SecretBytes? {
        precondition(authorization.count == SealedSecret.secretLength)
        return try TPMConnection(self).unseal(sealed, authorization: authorization)
    }
}

extension UInt32 {
    /// The four bytes, most significant first.
    var bigEndianBytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> (24 - 8 * $0)) } }
}
