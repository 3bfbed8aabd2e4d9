// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridPrimitives

/// The vault key, wrapped with a PIN for this device; stored in the local state only.
///
/// Magic (8) ‖ format (2) ‖ kind (1) ‖ vault ID (16) ‖ test (1) ‖ device ID (8) ‖ log2 N (1) ‖ r (1) ‖ p (1) ‖ salt
/// (32) ‖ wrapped key (12 + 32 + 16) ‖ SHA-256 of the preceding bytes (32). Everything before the wrapped key is its
/// associated data. The checksum distinguishes a damaged file from a wrong PIN.
struct PINSlot: Equatable {
    /// File name in the local state.
    static let fileName = "pin"
    /// Length in bytes.
    static let length = 71 + 60 + 32

    private static let magic = Array("HYBPINSL".utf8)
    private static let kind: UInt8 = 1
    private static let label = Array("slot v1 pin".utf8)

    let identity: VaultIdentity
    let device: DeviceID
    let scrypt: Scrypt
    private let salt: [UInt8]
    private let wrapped: [UInt8]

    /// Creates a slot that wraps a vault key; slow by design.
    ///
    /// - Throws: ``VaultError/outOfMemory`` if there is not enough memory for scrypt.
    init(
        wrapping vaultKey: SymmetricKey,
        pin: PIN,
        identity: VaultIdentity,
        device: Device,
        scrypt: Scrypt
    ) throws(VaultError) {
        let salt = RandomBytes.make(32)
        let header = Self.header(identity, device.id, scrypt, salt)
        let wrapping = try Self.wrappingKey(pin, device, identity, scrypt, salt)
        let wrapped = try? vaultKey.withUnsafeBytes { try Sealing.seal($0, key: wrapping, associatedData: header) }
        guard let wrapped else { throw .outOfMemory }
        self.identity = identity
        self.device = device.id
        self.scrypt = scrypt
        self.salt = salt
        self.wrapped = wrapped
    }

    /// Parses a slot; `nil` if its length, checksum or scrypt parameters are wrong, before any slow work is done.
    init?(bytes: [UInt8]) {
        guard var reader = FieldReader(checksummed: bytes, length: Self.length, magic: Self.magic),
            reader.take(UInt8.self) == Self.kind, let identity = reader.takeIdentity(),
            let device = reader.takeDeviceID(), let scrypt = reader.takeScrypt(),
            let salt = reader.take(32), let wrapped = reader.take(60)
        else { return nil }
        self.identity = identity
        self.device = device
        self.scrypt = scrypt
        self.salt = salt
        self.wrapped = wrapped
    }

    /// Contents of the file.
    var bytes: [UInt8] {
        (Self.header(identity, device, scrypt, salt) + wrapped).checksummed
    }

    /// Unwraps the vault key; slow by design.
    ///
    /// - Returns: The vault key; `nil` if the PIN is wrong.
    /// - Throws: ``VaultError/outOfMemory`` if there is not enough memory for scrypt.
    func open(pin: PIN, device: Device) throws(VaultError) -> SymmetricKey? {
        let wrapping = try Self.wrappingKey(pin, device, identity, scrypt, salt)
        return try? Sealing.open(
            wrapped,
            key: wrapping,
            associatedData: Self.header(identity, self.device, scrypt, salt)
        ) { SymmetricKey(data: $0) }
    }

    private static func header(
        _ identity: VaultIdentity,
        _ device: DeviceID,
        _ scrypt: Scrypt,
        _ salt: [UInt8]
    ) -> [UInt8] {
        var header: [UInt8] = .header(magic: magic)
        header += [kind] + identity.id + [identity.isTest ? 1 : 0] + device.bytes
        return header + [scrypt.logN, scrypt.r, scrypt.p] + salt
    }

    private static func wrappingKey(
        _ pin: PIN,
        _ device: Device,
        _ identity: VaultIdentity,
        _ scrypt: Scrypt,
        _ salt: [UInt8]
    ) throws(VaultError) -> SymmetricKey {
        guard let stretched = pin.withUnsafeBytes({ scrypt.stretch($0, salt: salt) }) else { throw .outOfMemory }
        let material = withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            stretched.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(32))) }
            device.secret.withUnsafeBytes { secret in
                UnsafeMutableRawBufferPointer(rebasing: buffer[32...]).copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: secret.prefix(32))
                )
            }
            defer { SecretBytes.wipe(buffer) }
            return SymmetricKey(data: UnsafeRawBufferPointer(buffer))
        }
        return Sealing.derive(material, identity: identity, info: label)
    }
}
