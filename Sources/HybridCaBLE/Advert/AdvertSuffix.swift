// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// What may follow an advert's 20 bytes: by which other channels the phone can be reached, and how.
///
/// A CBOR map from the channels of QR key 6 to what is needed for each (CTAP 2.3); now `{1: PSM}`. It travels in
/// the clear and nothing vouches for it: it may lead anywhere, and the handshake finds out whether to the phone.
public struct AdvertSuffix: Hashable, Sendable {
    /// Where the phone listens for L2CAP channels, if it does.
    public let psm: L2CAPPSM?

    /// The suffix of a phone that listens.
    public init(psm: L2CAPPSM) { self.psm = psm }

    /// Reads what was heard; what can't be understood is not there.
    public init(reading bytes: [UInt8]) {
        let map = try? CBORDecoder.decode(bytes, mode: .lenient).map
        psm = map?[.integer(DataChannelKind.l2cap.rawValue)]?.integer.flatMap(L2CAPPSM.init)
    }

    /// The bytes that go on the air; four, if the phone listens.
    public var encoded: [UInt8] {
        guard let psm else { return [] }
        let map: CBORMap = [.integer(DataChannelKind.l2cap.rawValue): .integer(Int(psm.rawValue))]
        return CBOREncoder.encode(map)
    }
}

/// The number under which a device takes L2CAP channels over Bluetooth LE: one of those that it may choose.
///
/// Source: Bluetooth Core Specification, volume 3, part A, 4.22: 0x80 to 0xFF are dynamic; what is below belongs to
/// services with a number of their own, to which no advert has to lead.
public struct L2CAPPSM: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt16

    /// Takes 0x80 to 0xFF; anything else is `nil`.
    public init?(_ number: some BinaryInteger) {
        guard (0x80...0xFF).contains(number) else { return nil }
        rawValue = UInt16(number)
    }
}
