// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// The 20 bytes that an authenticator advertises: an encrypted block and four bytes of its HMAC.
///
/// Source: CTAP 2.2 §11.5.1. With AD type 0x16 and UUID 0xFFF9, an advert takes 24 bytes of a 31-byte legacy PDU.
public struct Advert: FixedLengthBytes, Hashable, Sendable {
    /// Length in bytes.
    public static let length = 20

    /// The 20 bytes, AES block first.
    public let bytes: [UInt8]

    /// Creates a value from bytes whose length has been checked.
    public init(checked bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    /// Creates an advert from received service data; `nil` if it has fewer than 20 or more than 254 bytes.
    ///
    /// Bytes after the first 20 are a CTAP 2.3 suffix (see ``AdvertSuffix``) and are ignored.
    public init?(serviceData: some Collection<UInt8>) {
        guard serviceData.count >= Self.length, serviceData.count <= Limits.serviceDataBytes else { return nil }
        self.bytes = Array(serviceData.prefix(Self.length))
    }
}

/// The 16-bit service UUID of an advert.
public enum AdvertServiceUUID: UInt16, CaseIterable, Sendable {
    /// Assigned to the FIDO Alliance; used for sending.
    case fido = 0xFFF9
    /// Assigned to Google; iOS 16 still sent it.
    case google = 0xFDE2

    /// The 128-bit form, as used by BlueZ.
    public var fullText: String { "0000\(String(rawValue, radix: 16))-0000-1000-8000-00805f9b34fb" }
}
