// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridPrimitives
internal import HybridTPM

/// The vault key, wrapped with a PIN for this device and its TPM, which counts wrong PINs; in the local state only.
///
/// ``DeviceSlotHeader`` (71) ‖ TPM's vendor (4) ‖ name of its storage key (34) ‖ name of its endorsement key (34) ‖
/// TPM2B_PUBLIC (48) ‖ TPM2B_PRIVATE (3 to 514) ‖ wrapped key (12 + 32 + 16) ‖ SHA-256 of the preceding bytes (32).
/// Everything before the wrapped key is its associated data.
///
/// The wrapping key depends on the sealed secret, the PIN and the device's secret. A broken TPM therefore makes the slot
/// no weaker than a ``PINSlot``.
struct TPMSlot: Equatable {
    /// File name in the local state.
    static let fileName = "tpm"
    /// Limit of the length, in bytes.
    static let maximumLength = fixedLength + SealedSecret.maximumPrivateLength

    private static let fixedLength =
        DeviceSlotHeader.length + 4 + 2 * SealedSecret.nameLength + SealedSecret.publicLength + 60 + 32
    private static let magic = Array("HYBTPMSL".utf8)
    private static let kind: UInt8 = 4
    private static let wrappingLabel = Array("slot v1 tpm".utf8)
    private static let authorizationLabel = Array("slot v1 tpm auth".utf8)

    let header: DeviceSlotHeader
    private let sealed: SealedSecret
    private let wrapped: [UInt8]

    /// Creates a slot that wraps a vault key, and opens it once; slow by design.
    ///
    /// - Throws: ``VaultError/tpm(_:)`` or ``VaultError/outOfMemory``.
    init(
        wrapping vaultKey: SymmetricKey,
        pin: PIN,
        identity: VaultIdentity,
        device: Device,
        scrypt: Scrypt,
        tpm: TPMAddress
    ) throws(VaultError) {
        header = DeviceSlotHeader(identity: identity, device: device.id, scrypt: scrypt)
        let stretched = try header.stretch(pin)
        let secret = SymmetricKey(size: .bits256)
        let authorization = Self.authorization(stretched, identity)
        let sealing = secret.withUnsafeBytes { secret in
            authorization.withUnsafeBytes { authorization in
                Result { () throws(TPMError) in try tpm.seal(secret, authorization: authorization) }
            }
        }
        sealed = try sealing.mapError(VaultError.tpm).get()
        let wrapping = header.wrappingKey([secret, stretched, device.secret], info: Self.wrappingLabel)
        let front = Self.front(header, sealed)
        let wrapped = try? vaultKey.withUnsafeBytes { try Sealing.seal($0, key: wrapping, associatedData: front) }
        guard let wrapped else { throw .outOfMemory }
        self.wrapped = wrapped
        // A slot that does not open must not replace one that does.
        guard let read = TPMSlot(bytes: bytes), read == self,
            try read.unwrapKey(pin: pin, device: device, tpm: tpm) == vaultKey
        else { throw .tpm(.failed("the new slot does not open")) }
    }

    /// Parses a slot; `nil` if a length, the checksum or a field is wrong, before any slow work is done.
    init?(bytes: [UInt8]) {
        let privateLength = bytes.count - Self.fixedLength
        guard (3...SealedSecret.maximumPrivateLength).contains(privateLength),
            var reader = BinaryFieldReader(checksummed: bytes, length: bytes.count, magic: Self.magic),
            let header = DeviceSlotHeader(from: &reader, kind: Self.kind),
            let manufacturer = reader.take(4), let parent = reader.take(SealedSecret.nameLength),
            let endorsement = reader.take(SealedSecret.nameLength),
            let publicArea = reader.take(SealedSecret.publicLength), let privateArea = reader.take(privateLength),
            let wrapped = reader.take(60),
            let sealed = SealedSecret(
                manufacturer: manufacturer,
                parentName: parent,
                endorsementName: endorsement,
                publicArea: publicArea,
                privateArea: privateArea
            )
        else { return nil }
        self.header = header
        self.sealed = sealed
        self.wrapped = wrapped
    }

    /// Contents of the file.
    var bytes: [UInt8] { (Self.front(header, sealed) + wrapped).checksummed }

    /// Unwraps the vault key; slow by design.
    ///
    /// - Returns: The vault key; `nil` if the PIN is wrong, which the TPM has counted.
    /// - Throws: ``VaultError/tpm(_:)`` or ``VaultError/outOfMemory`` if the PIN was not tried, or
    ///   ``VaultError/damaged(_:)``.
    func unwrapKey(pin: PIN, device: Device, tpm: TPMAddress) throws(VaultError) -> SymmetricKey? {
        let stretched = try header.stretch(pin)
        let opening = Self.authorization(stretched, header.identity).withUnsafeBytes { authorization in
            Result { () throws(TPMError) in try tpm.unseal(sealed, authorization: authorization) }
        }
        guard let secret = try opening.mapError(VaultError.tpm).get() else { return nil }
        let parts = [SymmetricKey(data: UnsafeRawBufferPointer(secret.memory)), stretched, device.secret]
        let wrapping = header.wrappingKey(parts, info: Self.wrappingLabel)
        let front = Self.front(header, sealed)
        let key = try? Sealing.open(wrapped, key: wrapping, associatedData: front) { SymmetricKey(data: $0) }
        guard let key else { throw .damaged("the slot \(Self.fileName) does not fit this device") }
        return key
    }

    /// Returns everything before the wrapped key.
    private static func front(_ header: DeviceSlotHeader, _ sealed: SealedSecret) -> [UInt8] {
        header.bytes(magic: magic, kind: kind) + sealed.manufacturer + sealed.parentName + sealed.endorsementName
            + sealed.publicArea + sealed.privateArea
    }

    /// Returns the authorization value, whose last byte is never 0.
    ///
    /// TPMs remove trailing zeros, and versions of libtss2 disagree about who removes them.
    private static func authorization(_ stretched: SymmetricKey, _ identity: VaultIdentity) -> SymmetricKey {
        let derived = Sealing.derive(stretched, identity: identity, info: authorizationLabel)
        return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { buffer in
            defer { SecretBytes.wipe(buffer) }
            derived.withUnsafeBytes { buffer.copyMemory(from: $0) }
            if buffer[31] == 0 { buffer[31] = 1 }
            return SymmetricKey(data: UnsafeRawBufferPointer(buffer))
        }
    }
}
