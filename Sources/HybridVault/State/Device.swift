// SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// This device's ID and its part of the PIN slot's key; both stay in the local state.
///
/// File: magic (8) ‖ format (2) ‖ device ID (8) ‖ secret (32) ‖ SHA-256 of all before (32).
struct Device: Sendable {
    /// File name in the local state.
    static let fileName = "device"
    /// Length in bytes.
    static let length = 82

    private static let magic = Array("HYBDEVIC".utf8)

    /// ID of the device.
    let id: DeviceID
    /// 32 random bytes; without them, a PIN cannot be guessed from the PIN slot.
    let secret: SymmetricKey

    /// Creates a new device.
    init() {
        id = .random()
        secret = SymmetricKey(size: .bits256)
    }

    /// Reads the file; `nil` for any other length or checksum.
    init?(bytes: [UInt8]) {
        guard var reader = FieldReader(checksummed: bytes, length: Self.length, magic: Self.magic),
            let id = reader.takeDeviceID(), let secret = reader.take(32)
        else { return nil }
        self.id = id
        self.secret = SymmetricKey(data: secret)
    }

    /// Contents of the file.
    var bytes: [UInt8] {
        var bytes = .header(magic: Self.magic) + id.bytes
        secret.withUnsafeBytes { bytes += $0 }
        return bytes.checksummed
    }
}
