// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// This device's ID and its secret, from which the key of the PIN slot is also derived.
///
/// Both are stored in the local state only. File: magic (8) ‖ format (2) ‖ device ID (8) ‖ secret (32) ‖ SHA-256 of the
/// preceding bytes (32).
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

    /// Parses the file; `nil` if its length or checksum is wrong.
    init?(bytes: [UInt8]) {
        guard var reader = BinaryFieldReader(checksummed: bytes, length: Self.length, magic: Self.magic),
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
