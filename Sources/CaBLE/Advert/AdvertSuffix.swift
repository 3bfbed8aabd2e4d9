// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// The optional suffix of an advert, which lists additional data channels of the authenticator.
///
/// The suffix is a CBOR map from channel numbers, as in QR key 6, to channel parameters (CTAP 2.3). Currently it is
/// `{1: PSM}`. It is neither encrypted nor authenticated, so only the handshake proves that a channel leads to the
/// authenticator.
public struct AdvertSuffix: Hashable, Sendable {
    /// PSM on which the authenticator accepts L2CAP channels, if any.
    public let psm: L2CAPPSM?

    /// Creates the suffix of an authenticator that accepts L2CAP channels.
    public init(psm: L2CAPPSM) { self.psm = psm }

    /// Creates a suffix from received bytes; malformed or unknown contents are ignored.
    public init(reading bytes: [UInt8]) {
        let map = try? CBORDecoder.decode(bytes, mode: .lenient).map
        psm = map?[.integer(DataChannelKind.l2cap.rawValue)]?.integer.flatMap(L2CAPPSM.init)
    }

    /// The encoded suffix: 4 bytes if there is a PSM, otherwise empty.
    public var encoded: [UInt8] {
        guard let psm else { return [] }
        let map: CBORMap = [.integer(DataChannelKind.l2cap.rawValue): .integer(Int(psm.rawValue))]
        return CBOREncoder.encode(map)
    }
}

/// The dynamic PSM of an L2CAP channel over Bluetooth LE.
///
/// Numbers 0x80 to 0xFF are dynamic (Bluetooth Core Specification, volume 3, part A, 4.22). Lower numbers are assigned
/// to services and are not valid in an advert.
public struct L2CAPPSM: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt16

    /// Creates a PSM from 0x80 to 0xFF; `nil` for another number.
    public init?(_ number: some BinaryInteger) {
        guard (0x80...0xFF).contains(number) else { return nil }
        rawValue = UInt16(number)
    }
}
