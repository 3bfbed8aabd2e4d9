// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridAuthenticator
internal import HybridPrimitives

/// The first fields of a slot that the PIN opens on one device.
///
/// Magic (8) ‖ format (2) ‖ kind (1) ‖ vault ID (16) ‖ test (1) ‖ device ID (8) ‖ log2 N (1) ‖ r (1) ‖ p (1) ‖ salt (32).
struct DeviceSlotHeader: Equatable {
    /// Length in bytes.
    static let length = 71

    let identity: VaultIdentity
    let device: DeviceID
    let scrypt: Scrypt
    private let salt: [UInt8]

    /// Creates a header with a random salt.
    init(identity: VaultIdentity, device: DeviceID, scrypt: Scrypt) {
        self.identity = identity
        self.device = device
        self.scrypt = scrypt
        salt = .random(32)
    }

    /// Takes the fields behind the magic and the format; `nil` if the kind or a field is wrong.
    init?(from reader: inout BinaryFieldReader, kind: UInt8) {
        guard reader.take(UInt8.self) == kind, let identity = reader.takeIdentity(), let device = reader.takeDeviceID(),
            let scrypt = reader.takeScrypt(isTest: identity.isTest), let salt = reader.take(32)
        else { return nil }
        self.identity = identity
        self.device = device
        self.scrypt = scrypt
        self.salt = salt
    }

    /// Returns the fields as they begin a file.
    func bytes(magic: [UInt8], kind: UInt8) -> [UInt8] {
        let fields = [kind] + identity.id + [identity.isTest ? 1 : 0] + device.bytes
        return .header(magic: magic) + fields + [scrypt.logN, scrypt.r, scrypt.p] + salt
    }

    /// Returns scrypt of the PIN, 32 bytes; slow by design.
    ///
    /// - Throws: ``VaultError/outOfMemory`` if there is not enough memory for scrypt.
    func stretch(_ pin: PIN) throws(VaultError) -> SymmetricKey {
        guard let stretched = pin.withUnsafeBytes({ scrypt.stretch($0, salt: salt) }) else { throw .outOfMemory }
        return stretched
    }

    /// Returns the wrapping key that depends on all parts, each of 32 bytes.
    func wrappingKey(_ parts: [SymmetricKey], info: [UInt8]) -> SymmetricKey {
        let material = withUnsafeTemporaryAllocation(byteCount: 32 * parts.count, alignment: 1) { buffer in
            defer { SecretBytes.wipe(buffer) }
            for (index, part) in parts.enumerated() {
                part.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: buffer[(32 * index)...])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(32)))
                }
            }
            return SymmetricKey(data: UnsafeRawBufferPointer(buffer))
        }
        return Sealing.derive(material, identity: identity, info: info)
    }
}
