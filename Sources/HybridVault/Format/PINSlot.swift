// SPDX-License-Identifier: Apache-2.0

internal import Crypto
private import Glibc
internal import HybridAuthenticator

/// The vault key, wrapped for a PIN on this device; lives in the local state and nowhere else.
///
/// Magic (8) ‖ format (2) ‖ kind (1) ‖ vault ID (16) ‖ test (1) ‖ device ID (8) ‖ log2 N (1) ‖ r (1) ‖ p (1) ‖
/// salt (32) ‖ wrapped key (12 + 32 + 16) ‖ SHA-256 of all before (32). Everything before the wrapped key is its
/// associated data. The checksum tells a damaged file from a wrong PIN.
struct PINSlot: Equatable {
    /// Name of the file in the local state.
    static let fileName = "pin"
    /// The only length there is.
    static let length = 71 + 60 + 32

    private static let magic = Array("HYBPINSL".utf8)
    private static let kind: UInt8 = 1
    private static let label = Array("slot v1 pin".utf8)

    let identity: VaultIdentity
    let device: DeviceID
    let scrypt: Scrypt
    private let salt: [UInt8]
    private let wrapped: [UInt8]

    /// Wraps a vault key.
    ///
    /// - Throws: When there is not enough memory for scrypt.
    init(wrapping vaultKey: SymmetricKey, pin: PIN, identity: VaultIdentity, device: Device, scrypt: Scrypt) throws {
        let salt = RandomBytes.make(32)
        let header = Self.header(identity, device.id, scrypt, salt)
        let kek = try Self.wrappingKey(pin, device, identity, scrypt, salt)
        self.identity = identity
        self.device = device.id
        self.scrypt = scrypt
        self.salt = salt
        self.wrapped = try vaultKey.withUnsafeBytes { key in
            let box = try AES.GCM.seal(key, using: kek, authenticating: header)
            return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        }
    }

    /// Reads a slot; `nil` for any other length, cost or checksum, before any slow work is done.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.length, Sealing.checksum(Array(bytes.dropLast(32))) == Array(bytes.suffix(32)) else {
            return nil
        }
        var reader = FieldReader(bytes)
        guard reader.take(exactly: Self.magic), reader.take(UInt16.self) == VaultIdentity.format,
            reader.take(UInt8.self) == Self.kind,
            let id = reader.take(16), let test = reader.take(UInt8.self), test <= 1,
            let device = reader.take(8).flatMap(DeviceID.init(bytes:)),
            let logN = reader.take(UInt8.self), let r = reader.take(UInt8.self), let p = reader.take(UInt8.self),
            let scrypt = Scrypt(logN: logN, r: r, p: p),
            let salt = reader.take(32), let wrapped = reader.take(60)
        else { return nil }
        self.identity = VaultIdentity(id: id, test: test == 1)
        self.device = device
        self.scrypt = scrypt
        self.salt = salt
        self.wrapped = wrapped
    }

    /// The content of the file.
    var bytes: [UInt8] {
        let body = Self.header(identity, device, scrypt, salt) + wrapped
        return body + Sealing.checksum(body)
    }

    /// Unwraps the vault key, which is slow by design; `nil` if the PIN is wrong.
    ///
    /// - Throws: When there is not enough memory for scrypt.
    func open(pin: PIN, device: Device) throws -> SymmetricKey? {
        let kek = try Self.wrappingKey(pin, device, identity, scrypt, salt)
        return try? Sealing.open(
            wrapped,
            key: kek,
            associatedData: Self.header(identity, self.device, scrypt, salt)
        ) { SymmetricKey(data: $0) }
    }

    private static func header(
        _ identity: VaultIdentity,
        _ device: DeviceID,
        _ scrypt: Scrypt,
        _ salt: [UInt8]
    ) -> [UInt8] {
        var header = magic
        header.append(bigEndian: VaultIdentity.format)
        header += [kind] + identity.id + [identity.test ? 1 : 0] + device.bytes
        return header + [scrypt.logN, scrypt.r, scrypt.p] + salt
    }

    private static func wrappingKey(
        _ pin: PIN,
        _ device: Device,
        _ identity: VaultIdentity,
        _ scrypt: Scrypt,
        _ salt: [UInt8]
    ) throws -> SymmetricKey {
        let stretched = try pin.withUnsafeBytes { try scrypt.stretch($0, salt: salt) }
        let material = withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            stretched.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(32))) }
            device.secret.withUnsafeBytes { secret in
                UnsafeMutableRawBufferPointer(rebasing: buffer[32...]).copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: secret.prefix(32))
                )
            }
            defer { if let base = buffer.baseAddress { explicit_bzero(base, buffer.count) } }
            return SymmetricKey(data: UnsafeRawBufferPointer(buffer))
        }
        return Sealing.derive(material, identity: identity, info: label)
    }
}
