// SPDX-License-Identifier: Apache-2.0

internal import CHybridBluetooth

/// Where a device is reached by radio.
///
/// It tells who somebody is, so it is never written or shown.
public struct DeviceAddress: Hashable, Sendable {
    /// Six bytes, in the order in which they are written.
    private let bytes: [UInt8]
    private let isRandom: Bool

    /// Reads BlueZ's words for it: six pairs of hexadecimal digits with colons, and `public` or `random`.
    init?(text: String?, type: String?) {
        guard let text, type == "public" || type == "random" else { return nil }
        let pairs = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let bytes = pairs.compactMap(Self.byte)
        guard pairs.count == 6, bytes.count == 6 else { return nil }
        self.bytes = bytes
        isRandom = type == "random"
    }

    private static func byte(_ digits: Substring.UTF8View) -> UInt8? {
        guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
        return UInt8(Substring(digits), radix: 16)
    }

    /// The kernel's form of the address and of a channel's number there; 0 lets the kernel choose one.
    func socketAddress(psm: UInt16) -> sockaddr_l2 {
        var address = sockaddr_l2()
        address.l2_family = sa_family_t(AF_BLUETOOTH)
        // Both are little-endian to the kernel.
        address.l2_psm = psm.littleEndian
        withUnsafeMutableBytes(of: &address.l2_bdaddr) { $0.copyBytes(from: bytes.reversed()) }
        address.l2_bdaddr_type = UInt8(isRandom ? BDADDR_LE_RANDOM : BDADDR_LE_PUBLIC)
        return address
    }
}

extension DeviceAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Not the address.
    public var description: String { "(address)" }
    /// Not the address.
    public var debugDescription: String { description }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
