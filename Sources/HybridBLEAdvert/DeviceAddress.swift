// SPDX-License-Identifier: Apache-2.0

internal import CHybridBluetooth
public import HybridPrimitives

/// A device's Bluetooth address.
///
/// It identifies a person's device, so it is never stored or shown.
public struct DeviceAddress: SecretMaterial, Hashable, Sendable {
    /// Six bytes in the order of the text.
    private let bytes: [UInt8]
    private let isRandom: Bool

    /// Reads the address and type as BlueZ writes them: six pairs of hexadecimal digits with colons, and `public` or
    /// `random`.
    init?(text: String?, type: String?) {
        guard let text, type == "public" || type == "random" else { return nil }
        let pairs = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let bytes = pairs.compactMap { Hex.decode($0, length: 1)?.first }
        guard pairs.count == 6, bytes.count == 6 else { return nil }
        self.bytes = bytes
        isRandom = type == "random"
    }

    /// Returns the kernel's form of the address with a PSM.
    ///
    /// PSM 0 lets the kernel choose one.
    func socketAddress(psm: UInt16) -> sockaddr_l2 {
        var address = sockaddr_l2()
        address.l2_family = sa_family_t(AF_BLUETOOTH)
        // Both are little-endian in the kernel's structure.
        address.l2_psm = psm.littleEndian
        withUnsafeMutableBytes(of: &address.l2_bdaddr) { $0.copyBytes(from: bytes.reversed()) }
        address.l2_bdaddr_type = UInt8(isRandom ? BDADDR_LE_RANDOM : BDADDR_LE_PUBLIC)
        return address
    }
}
