// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridPrimitives

/// The vault key, wrapped with a PIN for this device; stored in the local state only.
///
/// ``DeviceSlotHeader`` (71) ‖ wrapped key (12 + 32 + 16) ‖ SHA-256 of the preceding bytes (32). The header is the
/// associated data of the wrapped key. The checksum distinguishes a damaged file from a wrong PIN.
struct PINSlot: Equatable {
    /// File name in the local state.
    static let fileName = "pin"
    /// Length in bytes.
    static let length = DeviceSlotHeader.length + 60 + 32

    private static let magic = Array("HYBPINSL".utf8)
    private static let kind: UInt8 = 1
    private static let label = Array("slot v1 pin".utf8)

    let header: DeviceSlotHeader
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
        header = DeviceSlotHeader(identity: identity, device: device.id, scrypt: scrypt)
        let wrapping = header.wrappingKey([try header.stretch(pin), device.secret], info: Self.label)
        let front = header.bytes(magic: Self.magic, kind: Self.kind)
        let wrapped = try? vaultKey.withUnsafeBytes { try Sealing.seal($0, key: wrapping, associatedData: front) }
        guard let wrapped else { throw .outOfMemory }
        self.wrapped = wrapped
    }

    /// Parses a slot; `nil` if its length, checksum or scrypt parameters are wrong, before any slow work is done.
    init?(bytes: [UInt8]) {
        guard var reader = BinaryFieldReader(checksummed: bytes, length: Self.length, magic: Self.magic),
            let header = DeviceSlotHeader(from: &reader, kind: Self.kind), let wrapped = reader.take(60)
        else { return nil }
        self.header = header
        self.wrapped = wrapped
    }

    /// Contents of the file.
    var bytes: [UInt8] { (header.bytes(magic: Self.magic, kind: Self.kind) + wrapped).checksummed }

    /// Unwraps the vault key; slow by design.
    ///
    /// - Returns: The vault key; `nil` if the PIN is wrong.
    /// - Throws: ``VaultError/outOfMemory`` if there is not enough memory for scrypt.
    func unwrapKey(pin: PIN, device: Device) throws(VaultError) -> SymmetricKey? {
        let wrapping = header.wrappingKey([try header.stretch(pin), device.secret], info: Self.label)
        let front = header.bytes(magic: Self.magic, kind: Self.kind)
        return try? Sealing.open(wrapped, key: wrapping, associatedData: front) { SymmetricKey(data: $0) }
    }
}
