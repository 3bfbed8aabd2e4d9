// SPDX-License-Identifier: Apache-2.0

internal import CHybridBluetooth
public import HybridPrimitives

/// A device's Bluetooth address.
///
/// It identifies a person's device, so it is never stored or shown.
public struct BluetoothAddress: SecretMaterial, Hashable, Sendable {
    /// The 6 bytes, in the order of the text.
    private let bytes: [UInt8]
    private let isRandom: Bool

    /// Creates an address from BlueZ's notation; `nil` for any other text.
    ///
    /// - Parameters:
    ///   - text: Six pairs of hexadecimal digits, separated by colons.
    ///   - type: `public` or `random`.
    init?(text: String?, type: String?) {
        guard let text, type == "public" || type == "random" else { return nil }
        let pairs = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let bytes = pairs.compactMap { Hex.decode($0, length: 1)?.first }
        guard pairs.count == 6, bytes.count == 6 else { return nil }
        self.bytes = bytes
        isRandom = type == "random"
    }

    /// Returns the kernel's socket address for this device and a PSM; the kernel replaces PSM 0 by a free one.
    func socketAddress(psm: UInt16) -> sockaddr_l2 {
        var address = sockaddr_l2()
        address.l2_family = sa_family_t(AF_BLUETOOTH)
        // The kernel's structure has a little-endian PSM and address.
        address.l2_psm = psm.littleEndian
        withUnsafeMutableBytes(of: &address.l2_bdaddr) { $0.copyBytes(from: bytes.reversed()) }
        address.l2_bdaddr_type = UInt8(isRandom ? BDADDR_LE_RANDOM : BDADDR_LE_PUBLIC)
        return address
    }
}
