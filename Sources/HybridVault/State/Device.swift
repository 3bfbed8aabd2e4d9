// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// This device's name and its half of the PIN slot's key; both stay in the local state.
///
/// File: magic (8) ‖ format (2) ‖ device ID (8) ‖ secret (32) ‖ SHA-256 of all before (32).
struct Device: Sendable {
    /// Name of the file in the local state.
    static let fileName = "device"
    /// The only length there is.
    static let length = 82

    private static let magic = Array("HYBDEVIC".utf8)

    /// Who writes.
    let id: DeviceID
    /// 32 random bytes, so that a PIN can't be guessed without this file.
    let secret: SymmetricKey

    /// A device that never was.
    static func random() -> Device? {
        DeviceID(bytes: RandomBytes.make(8)).map { Device(id: $0, secret: SymmetricKey(size: .bits256)) }
    }

    private init(id: DeviceID, secret: SymmetricKey) {
        self.id = id
        self.secret = secret
    }

    /// Reads the file; `nil` for any other length or checksum.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.length, Sealing.checksum(Array(bytes.dropLast(32))) == Array(bytes.suffix(32)) else {
            return nil
        }
        var reader = FieldReader(bytes)
        guard reader.take(exactly: Self.magic), reader.take(UInt16.self) == VaultIdentity.format,
            let id = reader.take(8).flatMap(DeviceID.init(bytes:)), let secret = reader.take(32)
        else { return nil }
        self.id = id
        self.secret = SymmetricKey(data: secret)
    }

    /// The content of the file.
    var bytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(bigEndian: VaultIdentity.format)
        bytes += id.bytes
        secret.withUnsafeBytes { bytes += $0 }
        return bytes + Sealing.checksum(bytes)
    }
}
