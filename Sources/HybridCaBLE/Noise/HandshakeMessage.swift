// SPDX-License-Identifier: Apache-2.0

/// One of the two handshake messages: an ephemeral point (65 bytes, uncompressed) and a tag (16 bytes).
public struct HandshakeMessage: Hashable, Sendable {
    /// Length in bytes.
    public static let length = 81
    static let pointLength = 65

    /// The 81 bytes.
    public let bytes: [UInt8]

    init(point: [UInt8], tag: [UInt8]) { self.bytes = point + tag }

    /// Takes exactly 81 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = Array(bytes)
    }

    var point: [UInt8] { Array(bytes[..<Self.pointLength]) }
    var tag: [UInt8] { Array(bytes[Self.pointLength...]) }
}

/// Why a handshake failed; whatever the cause, the connection is dropped and nothing is answered.
public enum HandshakeError: Error, Equatable, Sendable {
    /// The other side's point is not on the curve.
    case invalidPoint
    /// The tag does not verify: the other side has another QR, heard another advert, or is somebody else.
    case notAuthentic
    /// A step was taken before the one it needs; a fault of the caller.
    case outOfOrder
}

/// The hash that both ends of a handshake share and nobody else can choose; 32 bytes, not secret.
public struct HandshakeHash: Hashable, Sendable {
    /// The 32 bytes.
    public let bytes: [UInt8]

    init(digest: [UInt8]) { self.bytes = digest }

    /// Takes exactly 32 bytes; anything else is `nil`.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }
}
