// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// The optional suffix of an advert, which lists further channels of the authenticator.
///
/// A CBOR map from channels of QR key 6 to their parameters (CTAP 2.3), currently `{1: PSM}`. The suffix is neither
/// encrypted nor authenticated. Only the handshake proves that the channel leads to the authenticator.
public struct AdvertSuffix: Hashable, Sendable {
    /// PSM on which the authenticator accepts L2CAP channels, if any.
    public let psm: L2CAPPSM?

    /// Creates the suffix of an authenticator that accepts L2CAP channels.
    public init(psm: L2CAPPSM) { self.psm = psm }

    /// Reads a received suffix.
    ///
    /// Unknown contents count as absent.
    public init(reading bytes: [UInt8]) {
        let map = try? CBORDecoder.decode(bytes, mode: .lenient).map
        psm = map?[.integer(DataChannelKind.l2cap.rawValue)]?.integer.flatMap(L2CAPPSM.init)
    }

    /// The encoded suffix: four bytes with a PSM, otherwise empty.
    public var encoded: [UInt8] {
        guard let psm else { return [] }
        let map: CBORMap = [.integer(DataChannelKind.l2cap.rawValue): .integer(Int(psm.rawValue))]
        return CBOREncoder.encode(map)
    }
}

/// The dynamic PSM of an L2CAP channel over Bluetooth LE.
///
/// Source: Bluetooth Core Specification, volume 3, part A, 4.22: 0x80 to 0xFF are dynamic. Lower numbers are assigned
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
